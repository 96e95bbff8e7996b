import Glibc
import Testing

@testable import DBus

/// A raw socket that can send valid and invalid D-Bus messages.
final class RawPeer: Sendable {
    let descriptor: Int32

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Connects to a listener by its address.
    init(_ address: String) throws {
        descriptor = try #require(connectedSocket(socketPath(address)))
    }

    deinit {
        close(descriptor)
    }

    /// Authenticates as the current user and sends `BEGIN`.
    func authenticate() throws {
        let user = "\(getuid())".utf8.map { String($0, radix: 16) }.joined()
        #expect(write(Array("\0AUTH EXTERNAL \(user)\r\nBEGIN\r\n".utf8)))
        var text = ""
        while !text.hasSuffix("\r\n") { text += String(decoding: try #require(read(1)), as: UTF8.self) }
    }

    /// - Returns: Whether the other end still accepts bytes.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Sends bytes with copies of a descriptor.
    ///
    /// - Returns: Whether the other end still accepts them.
    @discardableResult
    func write(_ bytes: [UInt8], with descriptor: UnixFD, count: Int) -> Bool {
        sendBytes(bytes, with: descriptor, count: count, to: self.descriptor) == bytes.count
    }

    /// - Returns: The bytes, or nil at the end of the stream.
    func read(_ count: Int, flags: Int = 0) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let taken = recv(descriptor, &bytes, count, Int32(flags))
        return taken > 0 ? Array(bytes.prefix(taken)) : nil
    }

    /// Reads all bytes that have arrived, without waiting.
    func drain() -> Int {
        var sum = 0
        while let bytes = read(1 << 16, flags: Int(MSG_DONTWAIT)) { sum += bytes.count }
        return sum
    }

    /// Returns a call of `Ping` as bytes.
    static func ping(_ serial: UInt32) -> [UInt8] {
        RawMessage.bytes(
            1,
            serial,
            [.path("/"), .text(2, "org.freedesktop.DBus.Peer"), .text(3, "Ping")]
        )
    }
}

/// Messages that are encoded by hand ("Message Format", D-Bus specification).
enum RawMessage {
    enum Field {
        case path(String)
        case text(UInt8, String)
        case number(UInt8, UInt32)
        case signature(String)
    }

    static func bytes(_ type: UInt8, _ serial: UInt32, _ fields: [Field], body: [UInt8] = []) -> [UInt8] {
        var header: [UInt8] = []
        for field in fields {
            header += padding(header.count, 8)
            switch field {
            case .path(let text): header += [1, 1, UInt8(ascii: "o"), 0] + string(text)
            case .text(let code, let text): header += [code, 1, UInt8(ascii: "s"), 0] + string(text)
            case .number(let code, let number): header += [code, 1, UInt8(ascii: "u"), 0] + integer(number)
            case .signature(let text):
                header += [8, 1, UInt8(ascii: "g"), 0, UInt8(text.utf8.count)] + Array(text.utf8) + [0]
            }
        }
        let start = [UInt8(ascii: "l"), type, 0, 1] + integer(UInt32(body.count)) + integer(serial)
        let all = start + integer(UInt32(header.count)) + header
        return all + padding(all.count, 8) + body
    }

    static func string(_ text: String) -> [UInt8] {
        integer(UInt32(text.utf8.count)) + Array(text.utf8) + [0]
    }

    private static func integer(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private static func padding(_ count: Int, _ alignment: Int) -> [UInt8] {
        [UInt8](repeating: 0, count: (alignment - count % alignment) % alignment)
    }
}

/// Sends bytes with copies of a descriptor, and returns the number of bytes that were sent.
func sendBytes(_ bytes: [UInt8], with descriptor: UnixFD, count: Int, to socket: Int32) -> Int {
    var control = ByteBuffer(capacity: 64)
    control.append(number: MemoryLayout<cmsghdr>.size + count * MemoryLayout<CInt>.size)
    control.append(number: SOL_SOCKET)
    control.append(number: CInt(SCM_RIGHTS))
    for _ in 0..<count { control.append(number: descriptor.rawValue) }
    control.pad(to: 8)
    var (bytes, controlBytes) = (bytes, control.array)
    return controlBytes.withUnsafeMutableBytes { control in
        bytes.withUnsafeMutableBytes { bytes in
            var piece = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            return withUnsafeMutablePointer(to: &piece) { piece in
                var header = msghdr()
                header.msg_iov = piece
                header.msg_iovlen = 1
                header.msg_control = control.baseAddress
                header.msg_controllen = control.count
                return sendmsg(socket, &header, Int32(MSG_NOSIGNAL))
            }
        }
    }
}

func socketPath(_ address: String) -> String {
    String(address.split(separator: ",")[0].dropFirst("unix:path=".count))
}

private func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix($0.count - 1))) }
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
}

func connectedSocket(_ path: String, blocking: Bool = true) -> Int32? {
    let type = Int32(SOCK_STREAM.rawValue) | (blocking ? 0 : Int32(SOCK_NONBLOCK.rawValue))
    let descriptor = socket(AF_UNIX, type, 0)
    if withAddress(path, { connect(descriptor, $0, $1) }) == 0 { return descriptor }
    close(descriptor)
    return nil
}

/// Connects an existing socket.
func connectSocket(_ descriptor: Int32, to path: String) -> Bool {
    withAddress(path) { connect(descriptor, $0, $1) } == 0
}

/// Opens a socket that others can connect to, but that accepts no connection.
func listeningSocket(_ path: String, backlog: Int32) -> Int32? {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard withAddress(path, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, backlog) == 0 else {
        close(descriptor)
        return nil
    }
    return descriptor
}
