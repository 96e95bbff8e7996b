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

    /// Sends bytes to the other end, as many as it takes at once.
    func send(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        _ = Glibc.send(far, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    }
}

/// Splits bytes into pieces of a size.
func pieces(of bytes: [UInt8], size: Int) -> [ArraySlice<UInt8>] {
    stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
}
