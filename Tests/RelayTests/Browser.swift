import Glibc
import Testing

/// A browser's request to a port of this machine.
final class BrowserRequest {
    private let socket: CInt

    init(get target: String, at port: UInt16) throws {
        socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        try #require(isConnected, "nothing listens at \(port)")
        let request = Array("GET \(target) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n".utf8)
        try #require(send(socket, request, request.count, CInt(MSG_NOSIGNAL)) == request.count)
    }

    deinit {
        close(socket)
    }

    /// Waits for the answer, and returns its status; nil if there is none.
    func status() throws -> Int? {
        var answer = [UInt8](repeating: 0, count: 4096)
        var ready = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        try #require(poll(&ready, 1, 60_000) == 1, "there is no answer")
        let count = recv(socket, &answer, answer.count, 0)
        let words = String(decoding: answer.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        return words.count > 1 ? Int(words[1]) : nil
    }
}

/// Sends a browser's request, and returns the status in the answer.
func status(ofGet target: String, at port: UInt16) throws -> Int? {
    try BrowserRequest(get: target, at: port).status()
}
