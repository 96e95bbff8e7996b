import Foundation
import Glibc
import Logging
import Reactor
import SchemeRegistry
import SystemPackage
import Testing

@testable import URLRouter

/// The destination of the output of the processes that the router starts.
@Suite(.timeLimit(.minutes(10))) struct HandlerOutputTests {
    private let log = RecordedLog()
    private let loop: EventLoop

    init() throws {
        loop = try EventLoop()
    }

    private func launcher(_ output: HandlerOutput) -> HandlerLauncher {
        HandlerLauncher(environment: [:], loop: loop, output: output, scopes: nil)
    }

    private func handler(_ script: String) throws -> Handler {
        try .test("com.example.app", program: .path("/bin/sh")) { $0.arguments = ["-c", script] }
    }

    /// Returns an output that uses the log, whether or not this machine has a journal.
    private func output(_ limits: OutputPipeReader.Limits = OutputPipeReader.Limits()) -> HandlerOutput {
        HandlerOutput(loop: loop, log: log.logger, journal: "/nonexistent/stdout", limits: limits)
    }

    /// Opens the descriptor that a process would write to.
    private func open(_ output: HandlerOutput, id: String = "com.example.app") async throws(Errno) -> FileDescriptor {
        let descriptor = try await output.loop.run { () throws(Errno) in try output.open(for: id) }
        return FileDescriptor(rawValue: descriptor)
    }

    // MARK: The journal

    @Test func standardOutputAndErrorShareOneJournalStream() async throws {
        let journal = try Journal()
        defer { journal.remove() }
        let output = HandlerOutput(loop: loop, log: log.logger, journal: journal.path)
        let script = "echo out; echo err >&2; grep flags /proc/self/fdinfo/1; printf end"
        #expect(try await launcher(output).run(handler(script)) == .exited(status: 0))
        let lines = try journal.nextStream().split(separator: "\n", omittingEmptySubsequences: false)
        // The header has the identifier, no unit, the priority, the flag for priorities in lines, and three flags
        // against forwarding.
        #expect(lines[..<7] == ["com.example.app", "", "6", "1", "0", "0", "0"])
        #expect(lines[7...8] == ["out", "err"])
        // The descriptor blocks while the journal is slow, so a write does not fail.
        let flags = try #require(lines[9].split(separator: "\t").last.flatMap { CInt($0, radix: 8) })
        #expect(flags & O_NONBLOCK == 0)
        #expect(lines[10...] == ["end"])
        #expect(log.lines == [])
    }

    @Test func tooLongIdentifierIsTruncatedInTheHeader() async throws {
        let journal = try Journal()
        defer { journal.remove() }
        let output = HandlerOutput(loop: loop, log: log.logger, journal: journal.path)
        try await open(output, id: String(repeating: "i", count: 255)).close()
        #expect(try journal.nextStream() == String(repeating: "i", count: 254) + "\n\n6\n1\n0\n0\n0\n")
    }

    @Test func outputGoesToTheLogWithoutAJournal() async throws {
        let deaf = try Journal(isListening: false)
        let busy = try Journal(backlog: 0)
        defer {
            deaf.remove()
            busy.remove()
        }
        try await open(HandlerOutput(loop: loop, log: log.logger, journal: busy.path)).close()
        let tooLong = "/" + String(repeating: "j", count: 200)
        for (number, path) in ["/nonexistent/stdout", deaf.path, busy.path, tooLong].enumerated() {
            let output = HandlerOutput(loop: loop, log: log.logger, journal: path)
            let script = "echo \(number) out; echo \(number) err >&2"
            #expect(try await launcher(output).run(handler(script)) == .exited(status: 0))
            await log.wait(for: "\(number) err")
        }
        #expect(log.lines == (0..<4).flatMap { n in ["out", "err"].map { "info com.example.app: \(n) \($0)" } })
    }

    // MARK: The log

    @Test func outputIsLoggedLineByLine() async throws {
        let descriptor = try await open(output())
        try descriptor.writeAll("one\n\n\ntwo\r\nthr".utf8)
        await log.wait(for: "two\r")
        try descriptor.writeAll("ee\n\u{FEFF}\u{E9}".utf8)
        try descriptor.writeAll([0xFF, 0x0A])
        try descriptor.writeAll("no end".utf8)
        try descriptor.close()
        await log.wait(for: "no end")
        #expect(
            log.lines
                == ["one", "two\r", "three", "\u{FEFF}\u{E9}\u{FFFD}", "no end"].map { "info com.example.app: \($0)" }
        )
    }

    @Test func tooLongLineIsTruncated() async throws {
        let descriptor = try await open(output())
        let a = String(repeating: "a", count: 4096)
        try descriptor.writeAll("\(a)\n".utf8)
        try descriptor.writeAll("x\n\(a)\(a)b\n".utf8)
        try descriptor.close()
        await log.wait(for: ": b")
        #expect(log.lines == [a, "x", a, a, "b"].map { "info com.example.app: \($0)" })
    }

    @Test func excessOutputIsCountedAndDoesNotBlockTheWriter() async throws {
        var limits = OutputPipeReader.Limits()
        limits.lines = 3
        // The period must not end during the test, however slow the machine is.
        limits.period = .seconds(3600)
        let exit = try await launcher(output(limits)).run(handler("yes | head -c 200000"))
        #expect(exit == .exited(status: 0))
        await log.wait(for: "lines were left out")
        let kept = Array(repeating: "info com.example.app: y", count: 3)
        #expect(log.lines == kept + ["warning com.example.app: it wrote too much: 99997 lines were left out"])
    }

    @Test func endOfAPeriodIsReportedAndResetsTheCount() async throws {
        var limits = OutputPipeReader.Limits()
        limits.lines = 1
        limits.period = .milliseconds(20)
        let descriptor = try await open(output(limits))
        for round in 1...2 {
            try descriptor.writeAll("\(round)\nx\nx\n".utf8)
            await log.wait(for: "it wrote too much: 2 lines were left out", times: round)
        }
        try descriptor.close()
        #expect(log.lines.filter { $0.hasPrefix("info") }.map { $0.suffix(1) } == ["1", "2"])
    }

    @Test func limitsEqualThoseOfJournald() {
        let limits = OutputPipeReader.Limits()
        #expect(limits.lines == 10_000)
        #expect(limits.period == .seconds(30))
    }

    // MARK: Descriptors

    @Test func launchesLeakNoDescriptorsInEitherProcess() async {
        // No other test opens descriptors in a child process.
        await #expect(processExitsWith: .success) {
            let log = RecordedLog()
            let loop = try EventLoop()
            let output = HandlerOutput(loop: loop, log: log.logger, journal: "/nonexistent/stdout")
            let launcher = HandlerLauncher(environment: [:], loop: loop, output: output, scopes: nil)
            // The highest number belongs to the directory `/proc/self/fd` itself.
            let lister = try Handler.test("com.example.app", program: .path("/bin/ls")) {
                $0.arguments = ["/proc/self/fd"]
            }
            let missing = try Handler.test("com.example.missing")
            func openDescriptors() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            #expect(try await launcher.run(lister) == .exited(status: 0))
            await log.wait(for: ": 3")
            let before = try openDescriptors()
            for round in 2...101 {
                #expect(try await launcher.run(lister) == .exited(status: 0))
                await log.wait(for: ": 3", times: round)
                await #expect(throws: (any Error).self) { try await launcher.run(missing) }
            }
            // The loop sees the end of a pipe when it next checks its descriptors.
            var after = try openDescriptors()
            for _ in 0..<10_000 where after > before {
                await loop.run {}
                after = try openDescriptors()
            }
            #expect(after <= before)
            #expect(Set(log.lines) == Set((0...3).map { "info com.example.app: \($0)" }))
        }
    }
}

/// A socket in place of the socket of journald.
private struct Journal {
    let path: String
    private let socket: CInt

    init(isListening: Bool = true, backlog: CInt = 8) throws {
        path = FileManager.default.temporaryDirectory.appending(path: "openurl-\(UUID().uuidString)").path
        socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound && (!isListening || listen(socket, backlog) == 0))
    }

    /// Returns the contents of the first stream up to its end. Several processes may hold the other end of the stream.
    func nextStream() throws -> String {
        let stream = FileDescriptor(rawValue: accept(socket, nil, nil))
        return try stream.closeAfter {
            var text: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = try buffer.withUnsafeMutableBytes { try stream.read(into: $0) }
                if count == 0 { return String(decoding: text, as: UTF8.self) }
                text += buffer[..<count]
            }
        }
    }

    func remove() {
        close(socket)
        unlink(path)
    }
}
