import Foundation
import Glibc
import TestSupport
import Testing

@testable import DBus

/// A socket to an input, and the input.
private struct Wire: ~Copyable {
    let near: UnixFD
    let far: UnixFD
    var input: InputBuffer

    init(limit: Int = 1 << 20, holdsMessages: Bool = true) throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        near = UnixFD(owning: ends[0])
        far = UnixFD(owning: ends[1])
        input =
            holdsMessages
            ? InputBuffer(limit: limit, descriptors: InputBuffer.descriptorsAtOnce) : InputBuffer(linesBefore: limit)
    }

    func send(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        #expect(Glibc.send(far.rawValue, bytes, bytes.count, 0) == bytes.count)
    }

    mutating func read() throws(MalformedMessage) -> InputBuffer.Progress { try input.read(from: near.rawValue) }
}

/// The bytes and descriptors that arrive on a socket.
@Suite(.timeLimit(.minutes(10))) struct InputTests {
    private static func message(_ text: String) throws -> [UInt8] {
        var bytes = try written(text).bytes
        bytes.set(7, at: MessageHeader.serialPlace)
        return bytes
    }

    @Test func messagesOfOneReadAreTakenInOrder() throws {
        var wire = try Wire()
        wire.send(try (1...20).flatMap { try Self.message("text \($0)") })
        #expect(try wire.read() == .read)
        for number in 1...20 { #expect(try wire.input.nextMessage()?.contents(limit: 100) == "text \(number)") }
        #expect(try wire.input.nextMessage() == nil)
        #expect(try wire.read() == .empty)
    }

    @Test func messageMayArriveInTwoParts() throws {
        let message = try Self.message("text")
        for split in 1..<message.count {
            var wire = try Wire()
            wire.send(message[..<split])
            #expect(try wire.read() == .read)
            #expect(try wire.input.nextMessage() == nil)
            wire.send(message[split...] + message)
            #expect(try wire.read() == .read)
            for _ in 0..<2 { #expect(try wire.input.nextMessage()?.contents(limit: 100) == "text") }
            #expect(wire.input.nextByte() == nil)
        }
    }

    @Test func largeMessageArrivesInManyReads() throws {
        var wire = try Wire()
        let text = String(repeating: "x", count: 100_000)
        let large = try Self.message(text)
        let bytes = try Self.message("before") + large + Self.message("behind")
        for start in stride(from: 0, to: bytes.count, by: 10_000) {
            wire.send(bytes[start..<min(start + 10_000, bytes.count)])
            while try wire.read() == .read {
                while let message = try wire.input.nextMessage() {
                    let found: String = try message.contents(limit: 1 << 20)
                    #expect(["before", text, "behind"].contains(found))
                }
            }
        }
        #expect(wire.input.nextByte() == nil)
    }

    @Test func messageAboveTheLimitIsRefusedByItsHeader() throws {
        let message = try Self.message(String(repeating: "x", count: 1000))
        var wire = try Wire(limit: message.count - 1)
        wire.send(message[..<16])
        #expect(try wire.read() == .read)
        #expect(throws: MalformedMessage.self) { try wire.input.nextMessage() }
        wire = try Wire(limit: message.count)
        wire.send(message)
        #expect(try wire.read() == .read)
        #expect(try wire.input.nextMessage() != nil)
    }

    @Test func descriptorsBelongToTheirMessages() throws {
        var wire = try Wire()
        let pipes = try (0..<3).map { _ in try Pipe() }
        var output = OutputBuffer()
        output.append(try written("none"), as: 1)
        output.append(try written([pipes[0].writeEnd, pipes[1].writeEnd]), as: 2)
        output.append(try written(pipes[2].writeEnd), as: 3)
        while !output.isEmpty { #expect(output.write(to: wire.far.rawValue) == .written) }
        var messages: [Message] = []
        while try wire.read() == .read { while let message = try wire.input.nextMessage() { messages.append(message) } }
        #expect(messages.map(\.descriptors.count) == [0, 2, 1])
        let last: UnixFD = try #require(messages.last).contents(limit: 100)
        #expect(write(last.rawValue, "x", 1) == 1)
        var byte: UInt8 = 0
        #expect(read(pipes[2].readEnd.rawValue, &byte, 1) == 1)
        #expect(fcntl(last.rawValue, F_GETFD) & FD_CLOEXEC != 0)
    }

    /// Sends bytes with copies of a descriptor.
    private static func send(_ bytes: [UInt8], _ descriptor: UnixFD, count: Int, over wire: borrowing Wire) {
        let sent = sendBytes(bytes, with: descriptor, count: count, to: wire.far.rawValue)
        #expect(sent == bytes.count)
    }

    @Test func descriptorsWithoutAMessageAreRefused() throws {
        var wire = try Wire()
        let pipe = try Pipe()
        let message = try Self.message("text")
        Self.send(message, pipe.writeEnd, count: 1, over: wire)
        #expect(try wire.read() == .read)
        #expect(throws: MalformedMessage.self) { try wire.input.nextMessage() }
        // A part of a message brings descriptors with each of its bytes.
        wire = try Wire()
        #expect(throws: MalformedMessage.self) {
            for byte in message {
                Self.send([byte], pipe.writeEnd, count: 16, over: wire)
                _ = try wire.read()
            }
        }
        wire = try Wire(holdsMessages: false)
        Self.send(message, pipe.writeEnd, count: 17, over: wire)
        #expect(throws: MalformedMessage.self) { try wire.read() }
    }

    @Test func descriptorsMayArriveWithAnyBytesOfTheirMessage() throws {
        let pipe = try Pipe()
        var message = try written([pipe.writeEnd, pipe.writeEnd, pipe.readEnd]).sentBytes
        message.set(7, at: MessageHeader.serialPlace)
        for split in 1..<message.count {
            var wire = try Wire()
            Self.send(Array(message[..<split]), pipe.writeEnd, count: 2, over: wire)
            Self.send(Array(message[split...]), pipe.readEnd, count: 1, over: wire)
            Self.send(message, pipe.writeEnd, count: 3, over: wire)
            var messages: [Message] = []
            while try wire.read() == .read {
                while let message = try wire.input.nextMessage() { messages.append(message) }
            }
            #expect(messages.map(\.descriptors.count) == [3, 3])
            let received: [UnixFD] = try #require(messages.first).contents(limit: 100)
            #expect(write(received[0].rawValue, "x", 1) == 1)
            var byte: UInt8 = 0
            #expect(read(received[2].rawValue, &byte, 1) == 1)
        }
        // The program takes no more for a message than a message may have.
        var wire = try Wire(holdsMessages: false)
        wire.input.beginMessages()
        Self.send(Array(message[..<20]), pipe.writeEnd, count: 16, over: wire)
        #expect(try wire.read() == .read)
        Self.send(Array(message[20..<21]), pipe.writeEnd, count: 16, over: wire)
        #expect(try wire.read() == .read)
        Self.send(Array(message[21..<22]), pipe.writeEnd, count: 1, over: wire)
        #expect(throws: MalformedMessage.self) { try wire.read() }
    }

    @Test func lostDescriptorsFailTheirMessageAlone() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            var wire = try Wire()
            let pipe = try Pipe()
            var output = OutputBuffer()
            output.append(try written([pipe.writeEnd, pipe.readEnd]), as: 1)
            output.append(try written(pipe.writeEnd), as: 2)
            let taken = TakenDescriptors()
            #expect(output.write(to: wire.far.rawValue) == .written)
            #expect(try wire.read() == .read)
            let first = try #require(try wire.input.nextMessage())
            #expect(throws: MessageReader.missingDescriptor) { try first.contents(limit: 100) as [UnixFD] }
            taken.giveBack()
            #expect(output.write(to: wire.far.rawValue) == .written)
            #expect(try wire.read() == .read)
            let second: UnixFD? = try wire.input.nextMessage()?.contents(limit: 100)
            #expect(write(try #require(second).rawValue, "x", 1) == 1)
        }
    }

    /// A bus passes on what its own rules allow, and the sender of one message must not end the connection of the receiver.
    @Test(arguments: [
        String(repeating: "(a{s", count: 17) + "y" + String(repeating: "})", count: 17),
        String(repeating: "a(", count: 33) + "y" + String(repeating: ")", count: 33), "()", "a{vs}", "z",
    ])
    func messageWithAStrangeSignatureIsIgnored(signature: String) throws {
        let strange = RawMessage.bytes(
            4,
            7,
            [.path("/"), .text(2, "a.b"), .text(3, "C"), .signature(signature)],
            body: [UInt8](repeating: 0, count: 8)
        )
        var wire = try Wire()
        wire.send(try strange + Self.message("text"))
        #expect(try wire.read() == .read)
        let first = try #require(try wire.input.nextMessage())
        if first.isValid { #expect(throws: MessageDecodingError.self) { try first.contents(limit: 100) as Value } }
        #expect(try wire.input.nextMessage()?.contents(limit: 100) == "text")
    }

    @Test(arguments: [
        [RawMessage.Field.text(2, "a.b"), .text(3, "C")], [.path("/")], [.path("//"), .text(3, "C")],
        [.path("/"), .text(3, "C.D")], [.path("/"), .text(2, "a"), .text(3, "C")],
        [.path("/"), .text(3, "C"), .text(7, "..")], [.path("/org/freedesktop/DBus/Local"), .text(3, "C")],
        [.path("/"), .text(3, "\u{0}")],
        [.path("/"), .text(3, "C"), .signature(String(repeating: "a", count: 33) + "y")],
        [
            .path("/"), .text(3, "C"),
            .signature(String(repeating: "(", count: 33) + "y" + String(repeating: ")", count: 33)),
        ],
    ])
    func messageWithAWrongHeaderIsIgnored(fields: [RawMessage.Field]) throws {
        var wire = try Wire()
        wire.send(RawMessage.bytes(1, 7, fields) + RawPeer.ping(8))
        #expect(try wire.read() == .read)
        #expect(try wire.input.nextMessage()?.isValid == false)
        #expect(try wire.input.nextMessage()?.kind == .methodCall)
    }

    @Test func bytesBehindTheLastValueAreRefused() throws {
        let message = try Message(
            RawMessage.bytes(
                1,
                7,
                [.path("/"), .text(3, "C"), .signature("y")],
                body: [1, 0]
            )
        )
        #expect(throws: MessageDecodingError.self) { try message.contents(limit: 100) as UInt8 }
        #expect(throws: MalformedMessage.self) { try Message([UInt8]()) }
        #expect(throws: MalformedMessage.self) { try Message([UInt8](repeating: 0x6C, count: 15)) }
    }

    @Test func endIsToldBehindTheMessages() throws {
        var wire = try Wire()
        wire.send(try Self.message("text"))
        shutdown(wire.far.rawValue, CInt(SHUT_WR))
        #expect(try wire.read() == .read)
        #expect(try wire.input.nextMessage() != nil)
        #expect(try wire.read() == .ended)
    }

    /// GLib writes messages in both byte orders.
    @Test(arguments: ["LITTLE", "BIG"]) func bothByteOrdersAreRead(order: String) throws {
        let script = try pythonProgram("glib_message")
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script, order]
        let output = Foundation.Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = Array(output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        let message = try Message(bytes)
        #expect(message.serial == 7 && message.path == "/a/b" && message.interface == "a.b" && message.member == "C")
        #expect(message.isSwapped == (order == "BIG"))
        var reader = MessageReader(message: message, limit: 10_000)
        #expect(try reader.readString() == "text")
        #expect(try reader.readUInt32() == 3)
        #expect(try reader.readInt16() == -2)
        #expect(try [Int64](from: &reader) == [1, -1])
        #expect(
            try [String: Value](from: &reader) == ["key": .uint32(5), "list": .array([.int32(1), .int32(2)], of: "i")]
        )
        #expect(try reader.readValue() == .structure([.byte(9), .double(0.5)]))
        #expect(try reader.readBool())
        let hasMore = reader.hasMore
        #expect(!hasMore)
    }
}

/// The authentication of a program that connects.
@Suite(.timeLimit(.minutes(10))) struct PeerAuthenticationTests {
    private static let id = "0123456789abcdef0123456789abcdef"
    private static let user = String(getuid()).utf8.map { String($0, radix: 16) }.joined()

    private static func answers(_ text: String, at once: Int) throws -> ([String], PeerAuthentication, rest: Int) {
        var wire = try Wire(holdsMessages: false)
        var authentication = PeerAuthentication(id: id)
        var answers: [String] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: once) {
            wire.send(bytes[start..<min(start + once, bytes.count)])
            #expect(try wire.read() == .read)
            while let answer = try authentication.answer(from: &wire.input) { answers.append(answer) }
        }
        var rest = 0
        while wire.input.nextByte() != nil { rest += 1 }
        return (answers, authentication, rest)
    }

    @Test(arguments: [1, 7, 1000]) func clientsOfLibdbusAndOfGLibAreAccepted(at once: Int) throws {
        let ok = "OK \(Self.id)\r\n"
        var (answers, authentication, rest) = try Self.answers(
            "\0AUTH EXTERNAL \(Self.user)\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\nmessages",
            at: once
        )
        #expect(answers == [ok, "AGREE_UNIX_FD\r\n"])
        #expect(authentication.isDone && authentication.passesDescriptors && rest == 8)
        (answers, authentication, rest) = try Self.answers(
            "\0AUTH\r\nAUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n",
            at: once
        )
        #expect(answers == ["REJECTED EXTERNAL\r\n", "DATA\r\n", ok])
        #expect(authentication.isDone && !authentication.passesDescriptors && rest == 0)
    }

    @Test(arguments: [
        ("AUTH EXTERNAL 3939393939", "REJECTED EXTERNAL\r\n"), ("AUTH ANONYMOUS", "REJECTED EXTERNAL\r\n"),
        ("AUTH EXTERNAL zz", "ERROR\r\n"), ("AUTH EXTERNAL 3", "ERROR\r\n"),
        ("AUTH EXTERNAL  ", "REJECTED EXTERNAL\r\n"), ("AUTH EXTERNAL 30 30", "REJECTED EXTERNAL\r\n"),
        ("AUTH", "REJECTED EXTERNAL\r\n"), ("CANCEL", "ERROR\r\n"),
        ("ERROR \"why\"", "REJECTED EXTERNAL\r\n"), ("DATA 30", "ERROR\r\n"), ("NEGOTIATE_UNIX_FD", "ERROR\r\n"),
        ("", "ERROR\r\n"), ("é", "ERROR\r\n"),
    ])
    func otherLinesAreRefused(line: String, answer: String) throws {
        let (answers, authentication, _) = try Self.answers("\0\(line)\r\nAUTH EXTERNAL \(Self.user)\r\n", at: 1000)
        #expect(answers == [answer, "OK \(Self.id)\r\n"])
        #expect(!authentication.isDone)
    }

    /// The states of a server in "Authentication state diagrams" of the D-Bus specification.
    @Test(arguments: [
        ("DATA zz", "ERROR\r\n"), ("DATA 3", "ERROR\r\n"), ("AUTH EXTERNAL", "ERROR\r\n"), ("AUTH", "ERROR\r\n"),
        ("NEGOTIATE_UNIX_FD", "ERROR\r\n"), ("CANCEL", "REJECTED EXTERNAL\r\n"), ("ERROR", "REJECTED EXTERNAL\r\n"),
        ("DATA 3939393939", "REJECTED EXTERNAL\r\n"),
    ])
    func lineWhileDataIsAwaitedHasTheAnswerOfTheSpecification(line: String, answer: String) throws {
        let isError = answer == "ERROR\r\n"
        let next = isError ? "DATA" : "AUTH EXTERNAL \(Self.user)"
        let (answers, _, _) = try Self.answers("\0AUTH EXTERNAL\r\n\(line)\r\n\(next)\r\n", at: 1000)
        #expect(answers == ["DATA\r\n", answer, "OK \(Self.id)\r\n"])
    }

    @Test(arguments: [
        ("AUTH EXTERNAL", "ERROR\r\n"), ("DATA", "ERROR\r\n"), ("NONSENSE", "ERROR\r\n"),
        ("CANCEL", "REJECTED EXTERNAL\r\n"), ("ERROR", "REJECTED EXTERNAL\r\n"),
    ])
    func lineWhileTheBeginIsAwaitedHasTheAnswerOfTheSpecification(line: String, answer: String) throws {
        let accepted = "OK \(Self.id)\r\n"
        let again = answer == "ERROR\r\n" ? "" : "AUTH EXTERNAL \(Self.user)\r\n"
        let (answers, authentication, _) = try Self.answers(
            "\0AUTH EXTERNAL \(Self.user)\r\n\(line)\r\n\(again)BEGIN\r\n",
            at: 1000
        )
        #expect(answers == [accepted, answer] + (again.isEmpty ? [] : [accepted]))
        #expect(authentication.isDone)
    }

    @Test(arguments: [
        "AUTH EXTERNAL\r\n", "\0BEGIN\r\n", "\0AUTH EXTERNAL\r\nBEGIN\r\n", "\0AUTH\n",
        "\0" + String(repeating: "x", count: 1024), "\0" + String(repeating: "AUTH\r\n", count: 9),
    ])
    func othersEndTheConnection(text: String) {
        #expect(throws: MalformedMessage.self) { _ = try Self.answers(text, at: 10_000) }
    }
}
