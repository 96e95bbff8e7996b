import DBus
import Foundation
import Glibc
import OpenURLBus
import TestSupport
import Testing

@testable import URLOpener

/// Connections to a bus that does not say which process owns the router's name.
@Suite(.timeLimit(.minutes(1))) struct RouterConnectionTests {
    /// Runs `body` with a client of a bus that answers the question about the process in the given way.
    private func withClient(_ answer: PlayedBus.Answer, _ body: (RouterClient) throws -> Void) throws {
        let bus = try PlayedBus(answer)
        try withExtendedLifetime(bus) {
            _ = try captured { invocation in
                var invocation = invocation
                invocation.bus = bus.address
                try body(RouterClient(on: invocation))
                return 0
            }
        }
    }

    @Test func onlyUnknownProcessIsNoFailure() throws {
        try withClient(.error("org.freedesktop.DBus.Error.UnixProcessIdUnknown")) { _ = try $0.bus() }
        try withClient(.error("org.freedesktop.DBus.Error.Failed")) { client in
            let failure = try #require(throws: CommandFailure.self) { try client.bus() }
            #expect(failure.message.hasPrefix("the owner of org.openurl.Router1 cannot be checked: "), "\(failure)")
            #expect(failure.exitStatus == 69)
        }
    }

    /// The user reads about the connection, not about the question.
    @Test func endedConnectionFailsTheNextCall() throws {
        try withClient(.end) { client in
            _ = try client.bus()
            let failure = try #require(throws: CommandFailure.self) {
                try client.call(RouterInterface.canOpenURL, "a:b")
            }
            #expect(failure.name == "org.freedesktop.DBus.Error.Disconnected", "\(failure)")
        }
    }
}

/// A bus for one client, which answers `Hello` and one more call.
private struct PlayedBus {
    enum Answer {
        /// An error with this name.
        case error(String)
        /// The end of the connection.
        case end
    }

    let address: BusAddress
    private let directory: TemporaryDirectory

    init(_ answer: Answer) throws {
        directory = try TemporaryDirectory()
        let path = "\(directory.path)/bus"
        address = .address("unix:path=\(path)")
        let listening = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listening, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound && listen(listening, 1) == 0)
        Thread.detachNewThread {
            let client = PlayedConnection(socket: accept(listening, nil, nil))
            close(listening)
            client.serve(answer)
            // A process that was started meanwhile may have a copy of the socket.
            shutdown(client.socket, CInt(SHUT_RDWR))
            close(client.socket)
        }
    }
}

/// The end of a connection that belongs to a ``PlayedBus``.
private struct PlayedConnection {
    let socket: CInt

    func serve(_ answer: PlayedBus.Answer) {
        while let line = nextLine(), line != "BEGIN" {
            let accepted = line == "NEGOTIATE_UNIX_FD" ? "AGREE_UNIX_FD" : "OK 0123456789abcdef0123456789abcdef"
            write(Array("\(accepted)\r\n".utf8))
        }
        guard let hello = nextCall() else { return }
        self.answer(hello, ":1.1")
        guard let question = nextCall(), case .error(let name) = answer else { return }
        self.answer(question, "the reason", error: name)
        while nextCall() != nil {}
    }

    private func nextLine() -> String? {
        var line: [UInt8] = []
        while let byte = read(1)?.first {
            if byte == UInt8(ascii: "\n") { return String(decoding: line.dropLast(), as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    /// Reads a call and returns its serial; nil at the end of the connection.
    private func nextCall() -> UInt32? {
        guard let header = read(16) else { return nil }
        let number = { (place: Int) -> Int in
            header[place..<place + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        let fieldsAndBody = (number(12) + 7) / 8 * 8 + number(4)
        return read(fieldsAndBody) == nil ? nil : UInt32(number(8))
    }

    private func answer(_ call: UInt32, _ text: String, error: String? = nil) {
        var fields = field(7, "s", string("org.freedesktop.DBus"))
        fields += field(8, "g", [1, UInt8(ascii: "s"), 0])
        if let error { fields += field(4, "s", string(error)) }
        // The last field ends at a multiple of eight bytes, so none of its bytes is padding.
        fields += field(5, "u", number(call))
        let body = string(text)
        var message: [UInt8] = [UInt8(ascii: "l"), error == nil ? 2 : 3, 1, 1]
        message += number(UInt32(body.count)) + number(1) + number(UInt32(fields.count))
        write(message + fields + body)
    }

    private func field(_ code: UInt8, _ type: Unicode.Scalar, _ value: [UInt8]) -> [UInt8] {
        let bytes = [code, 1, UInt8(ascii: type), 0] + value
        return bytes + [UInt8](repeating: 0, count: (8 - bytes.count % 8) % 8)
    }

    private func string(_ text: String) -> [UInt8] { number(UInt32(text.utf8.count)) + Array(text.utf8) + [0] }

    private func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }

    private func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return recv(socket, &bytes, count, CInt(MSG_WAITALL)) == count ? bytes : nil
    }

    private func write(_ bytes: [UInt8]) { _ = send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL)) }
}
