import Foundation
import Processes
import SchemeRegistry
import TestSupport
import Testing

@testable import URLRouter

/// A process that runs until its test ends it.
final class RunningProcess {
    private let process = ChildProcess()
    private let ends: AsyncStream<Void>

    var pid: UInt32 { UInt32(process.processIdentifier) }
    var isRunning: Bool { process.isRunning }
    /// The program of the process.
    let program: Handler.Program

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - environment: the environment of the process; nil for that of the test.
    ///   - wrapper: a program that runs the process, by its path, with its arguments.
    init(_ environment: [String: String]? = nil, wrapper: [String] = []) throws {
        let path = URL(filePath: "/bin/sleep").resolvingSymlinksInPath()
        program = .path(path.path)
        let command = wrapper + [path.path, "600"]
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        if let environment { process.environment = environment }
        let (ends, continuation) = AsyncStream<Void>.makeStream()
        self.ends = ends
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
    }

    deinit {
        end()
    }

    /// Returns when the process executes its own program, with its own environment.
    func waitUntilItRuns() async throws {
        try await eventually(ProcessProgram.path(pid: pid)) { $0.map(Handler.Program.path) == program }
        try await eventually(ProcessFiles.bytes("environ", pid: pid)) { $0 != nil }
    }

    /// Stops the process, and returns when the kernel has stopped it.
    func stop() {
        kill(process.processIdentifier, SIGSTOP)
        var information = siginfo_t()
        waitid(P_PID, id_t(process.processIdentifier), &information, WSTOPPED | WNOWAIT)
    }

    /// Returns when the process has ended.
    func waitForEnd() async {
        for await _ in ends {}
    }

    func end() {
        // After the end of the process, its number may belong to another one.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }
}
