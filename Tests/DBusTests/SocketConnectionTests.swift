import Foundation
import Glibc
import Reactor
import Testing

@testable import DBus

/// A program's end of a connection to a socket without a bus: ``BlockingConnection/init(socket:naming:on:limits:timeout:)``.
@Suite(.timeLimit(.minutes(5))) struct SocketConnectionTests {
    private static let hello = Method<Empty, String>("com.example.Lane1", "Hello", outputs: ["name"])

    /// Connects to a socket whose other end sends `answer` in pieces after the first bytes of this program.
    ///
    /// - Returns: What the other end has got, and the connection.
    private func connect(
        to answer: [[UInt8]],
        timeout: Duration = .seconds(60)
    ) throws(ConnectionError) -> (request: [UInt8], connection: BlockingConnection) {
        let path = "/tmp/socket-\(UUID().uuidString)"
        guard let listener = listeningSocket(path, backlog: 1) else { throw ConnectionError(reason: "no socket") }
        let hasAccepted = DispatchSemaphore(value: 0)
        defer {
            // Ends a wait for the connection. Until then, the thread needs the number of the socket.
            shutdown(listener, CInt(SHUT_RDWR))
            hasAccepted.wait()
            close(listener)
            unlink(path)
        }
        let request = Lock<[UInt8]>([])
        let thread = Thread {
            let socket = accept(listener, nil, nil)
            hasAccepted.signal()
            guard socket >= 0 else { return }
            defer { close(socket) }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &bytes, bytes.count, 0)
            request.withLock { $0 = Array(bytes.prefix(max(count, 0))) }
            for piece in answer {
                _ = send(socket, piece, piece.count, Int32(MSG_NOSIGNAL))
                // The other end has read the piece when nothing is on its way.
                var unread: CInt = 1
                let end = ContinuousClock.now + .seconds(60)
                while unread > 0, .now < end, ioctl(socket, UInt(TIOCOUTQ), &unread) == 0 { sched_yield() }
            }
            // Until the other end closes.
            while recv(socket, &bytes, bytes.count, 0) > 0 {}
        }
        thread.start()
        let connection = try BlockingConnection(
            socket: path,
            naming: Self.hello,
            on: RemoteObject(nil, "/"),
            timeout: timeout
        )
        return (request.withLock { $0 }, connection)
    }

    private static let accepted = Array("OK 0123456789abcdef0123456789abcdef\r\nAGREE_UNIX_FD\r\n".utf8)
    /// The answer to the first call.
    private static let name = RawMessage.bytes(
        2,
        1,
        [.number(5, 1), .signature("s")],
        body: RawMessage.string(":lane.7")
    )

    @Test func authenticationAndFirstCallAreOneMessage() throws {
        let (request, connection) = try connect(to: [Self.accepted + Self.name])
        #expect(connection.uniqueName == ":lane.7")
        let user = "\(getuid())".utf8.map { String($0, radix: 16) }.joined()
        let lines = Array("\0AUTH EXTERNAL \(user)\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n".utf8)
        #expect(request.starts(with: lines))
        #expect(request.dropFirst(lines.count).first == UInt8(ascii: "l"))
        #expect(String(decoding: request, as: UTF8.self).contains("Hello"))
    }

    @Test func answerMayArriveInAnyPieces() throws {
        for size in [1, 3, 38] {
            let bytes = Self.accepted + Self.name
            let pieces = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0...].prefix(size)) }
            #expect(try connect(to: pieces).connection.uniqueName == ":lane.7")
        }
    }

    @Test func descriptorsAreOnlyPassedToAProgramThatTakesThem() throws {
        let refused = Array("OK 0123456789abcdef0123456789abcdef\r\nERROR\r\n".utf8)
        let method = Method<UnixFD, Empty>("com.example.Lane1", "Take", inputs: ["file"])
        for (answer, isPassed) in [(Self.accepted, true), (refused, false)] {
            let connection = try connect(to: [answer + Self.name]).connection
            let file = UnixFD(owning: dup(STDIN_FILENO))
            if isPassed {
                try connection.send(method, on: RemoteObject(nil, "/"), file)
            } else {
                #expect(throws: CallError.notSent(.descriptorNotPassed)) {
                    try connection.send(method, on: RemoteObject(nil, "/"), file)
                }
            }
        }
    }

    @Test(arguments: ["REJECTED EXTERNAL\r\n", "HELLO\r\n", "OK\n", "\r\n", String(repeating: "x", count: 2000)])
    func programThatDoesNotAcceptEndsTheConnection(_ answer: String) {
        #expect(throws: ConnectionError(reason: "the other end closed the connection")) {
            try connect(to: [Array(answer.utf8)])
        }
    }

    @Test func silentProgramCostsTheTimeLimit() {
        #expect(throws: ConnectionError.timedOut) { try connect(to: [Self.accepted], timeout: .milliseconds(50)) }
        #expect(throws: ConnectionError.timedOut) { try connect(to: [], timeout: .milliseconds(50)) }
    }

    @Test func programWithoutRoomCostsTheTimeLimit() throws {
        let path = "/tmp/socket-\(UUID().uuidString)"
        let listener = try #require(listeningSocket(path, backlog: 0))
        defer {
            close(listener)
            unlink(path)
        }
        let first = try #require(connectedSocket(path))
        defer { close(first) }
        #expect(throws: ConnectionError.timedOut) {
            try BlockingConnection(
                socket: path,
                naming: Self.hello,
                on: RemoteObject(nil, "/"),
                timeout: .milliseconds(50)
            )
        }
    }

    @Test(arguments: ["", "/nonexistent/socket", "/tmp/a\0b", "/tmp/" + String(repeating: "x", count: 200)])
    func pathThatIsNoSocketIsAnError(_ path: String) {
        #expect(throws: ConnectionError.self) {
            try BlockingConnection(socket: path, naming: Self.hello, on: RemoteObject(nil, "/"), timeout: .seconds(60))
        }
    }
}
