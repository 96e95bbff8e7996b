import Foundation
import Testing

@testable import RouterDaemon

@Suite(.timeLimit(.minutes(1))) struct LogOutputTests {
    private static func notice(_ missing: Int) -> String { "\(missing) missing\n" }

    /// Writes lines until the reader, which does not read, has no room; returns all of them.
    private func fill(_ output: LogOutput, _ length: Int) -> [String] {
        let lines = (0..<(4 << 20) / length).map { "\($0) " + String(repeating: "x", count: length) }
        for line in lines { output.write("\(line)\n") }
        return lines
    }

    /// The lines that can be read now.
    private func lines(of descriptor: CInt) -> [Substring] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recvOrRead(descriptor, &piece)
            guard count > 0 else { break }
            bytes += piece.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    }

    private func recvOrRead(_ descriptor: CInt, _ piece: inout [UInt8]) -> Int {
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return read(descriptor, &piece, piece.count)
    }

    private func check(_ write: CInt, _ read: CInt, length: Int) {
        let output = LogOutput(write, notice: Self.notice)
        let all = fill(output, length)
        let first = lines(of: read)
        #expect(first.count > 1)
        #expect(first.count < all.count)
        output.write("after\n")
        let rest = lines(of: read)
        // The end of a line that was cut comes first.
        #expect(rest.last == "")
        #expect(rest.dropLast().last == "after")
        // A notice is shorter than a line, so there may be room for a notice alone.
        let notices = (first + rest).filter { $0.hasSuffix(" missing") }
        let told = notices.reduce(0) { $0 + (Int($1.dropLast(" missing".count)) ?? 0) }
        let written = Set(all)
        let whole = first.filter { written.contains(String($0)) }.count
        #expect(told == all.count - whole)
        // The descriptor itself still waits for its reader, for the other processes that have it.
        #expect(fcntl(write, F_GETFL) & O_NONBLOCK == 0)
    }

    @Test(arguments: [30, 9000]) func pipeThatIsNotReadHoldsNothingUp(length: Int) throws {
        let pipe = Pipe()
        check(pipe.fileHandleForWriting.fileDescriptor, pipe.fileHandleForReading.fileDescriptor, length: length)
    }

    @Test func socketThatIsNotReadHoldsNothingUp() throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        check(ends[0], ends[1], length: 30)
    }

    @Test func fileGetsEveryLine() throws {
        let path = NSTemporaryDirectory() + "openurl-log-\(UUID())"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        try #require(descriptor >= 0)
        defer {
            close(descriptor)
            unlink(path)
        }
        let output = LogOutput(descriptor, notice: Self.notice)
        let all = fill(output, 1000)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == all.map { "\($0)\n" }.joined())
    }
}
