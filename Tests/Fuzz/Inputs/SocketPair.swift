import Glibc

/// Two connected sockets: bytes that are sent to one arrive at the other.
struct SocketPair: ~Copyable {
    let near: CInt
    let far: CInt

    init() {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        precondition(socketpair(AF_UNIX, type, 0, &ends) == 0)
        (near, far) = (ends[0], ends[1])
    }

    deinit {
        close(near)
        close(far)
    }

    /// Sends bytes to the other end, as many as it takes at once, with some descriptors.
    func send(_ bytes: some Collection<UInt8>, descriptors: Int = 0) {
        var bytes = Array(bytes)
        guard descriptors > 0 else {
            _ = Glibc.send(far, bytes, bytes.count, CInt(MSG_NOSIGNAL))
            return
        }
        // A control message as in cmsg(3), with one descriptor several times.
        let passed = [CInt](repeating: far, count: descriptors + descriptors % 2)
        let header = [16 + 4 * descriptors, Int(SOL_SOCKET) | Int(SCM_RIGHTS) << 32]
        var control = header.withUnsafeBytes(Array.init) + passed.withUnsafeBytes(Array.init)
        bytes.withUnsafeMutableBytes { bytes in
            control.withUnsafeMutableBytes { control in
                var piece = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                withUnsafeMutablePointer(to: &piece) { piece in
                    var message = msghdr()
                    message.msg_iov = piece
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    _ = sendmsg(far, &message, CInt(MSG_NOSIGNAL))
                }
            }
        }
    }
}

/// The lowest number that a new descriptor would get.
var nextDescriptor: CInt {
    let descriptor = dup(0)
    close(descriptor)
    return descriptor
}

/// Splits bytes into pieces of a size.
func pieces(of bytes: [UInt8], size: Int) -> [ArraySlice<UInt8>] {
    stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
}
