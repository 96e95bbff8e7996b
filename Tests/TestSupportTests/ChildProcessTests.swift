import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ChildProcessTests {
    private func shell(_ script: String) -> ChildProcess {
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["-c", script]
        return process
    }

    /// Returns when a program has ended. Unlike `waitUntilExit()`, this does not keep a thread from its test's time limit.
    private func end(of process: ChildProcess) async {
        await withCheckedContinuation { continuation in
            process.terminationHandler = { _ in continuation.resume() }
        }
    }

    // Foundation's Process sees no other end while such a program runs.
    @Test func endIsSeenBesideAProgramThatHasClosedItsDescriptors() async throws {
        let waiting = shell("for n in {3..99}; do eval \"exec $n>&-\"; done; echo closed; read")
        let (input, output) = (Pipe(), Pipe())
        waiting.standardInput = input
        waiting.standardOutput = output
        try waiting.run()
        #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "closed\n")
        let other = shell("exit 3")
        try other.run()
        await end(of: other)
        #expect(other.terminationStatus == 3)
        #expect(waiting.isRunning)
        try input.fileHandleForWriting.close()
        await end(of: waiting)
        #expect(!waiting.isRunning)
    }

    @Test func signalIsTheReason() async throws {
        let process = shell("kill -KILL $$")
        try process.run()
        await end(of: process)
        #expect(process.terminationReason == .uncaughtSignal)
        #expect(process.terminationStatus == SIGKILL)
    }

    @Test(arguments: [false, true]) func handlerIsCalledWheneverItIsSet(isLate: Bool) async throws {
        let process = shell("exit 4")
        let (statuses, continuation) = AsyncStream<Int32>.makeStream()
        let handler: @Sendable (ChildProcess) -> Void = { continuation.yield($0.terminationStatus) }
        if !isLate { process.terminationHandler = handler }
        try process.run()
        if isLate {
            process.waitUntilExit()
            process.terminationHandler = handler
        }
        var iterator = statuses.makeAsyncIterator()
        #expect(await iterator.next() == 4)
    }

    @Test func missingProgramIsAnErrorAndStreamsAreThoseGiven() throws {
        let missing = ChildProcess()
        missing.executableURL = URL(filePath: "/no/such/program")
        #expect(throws: POSIXError(.ENOENT)) { try missing.run() }
        #expect(!missing.isRunning)

        let process = shell("read line; echo \"$line\"; echo error >&2; ls /proc/self/fd | wc -l")
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        process.currentDirectoryURL = URL(filePath: "/")
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data("line\n".utf8))
        try input.fileHandleForWriting.close()
        // ls itself opens one.
        #expect(try output.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) } == "line\n4\n")
        process.waitUntilExit()
    }
}
