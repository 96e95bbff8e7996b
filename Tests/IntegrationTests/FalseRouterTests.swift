import Foundation
import PrivateBus
import Testing

/// Programs that stand in for the router, and what the command makes of them.
@Suite(.timeLimit(.minutes(5))) struct FalseRouterTests {
    /// Runs a script of `FalseRouters` with the command.
    private func run(_ script: String, _ command: [String]) async throws -> CommandRun {
        let bus = try await PrivateBus()
        defer { bus.stop() }
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "FalseRouters/\(script)").path
        return try await CommandRun(
            URL(filePath: "/usr/bin/env"),
            ["timeout", "--signal=KILL", "60", "/usr/bin/python3", "-u", path] + command,
            bus.environment,
            in: bus.directory
        )
    }

    /// The signal comes when the command is about to ask, so no call of the system reports it.
    @Test func interruptJustBeforeTheQuestionIsNotLost() async throws {
        let run = try await run("interrupt_before_question.py", [RouterProcess.command.path, "app:x"])
        #expect(run.output.hasSuffix("\nexit 11"), "\(run)")
    }

    @Test func processThatHidesItsProgramGetsNoURL() async throws {
        // Root may look at every process, so it gives that right up.
        let wrapper = getuid() == 0 ? ["setpriv", "--bounding-set", "-sys_ptrace"] : []
        let run = try await run("hidden_router.py", wrapper + [RouterProcess.command.path, "app:x"])
        #expect(run.output.contains("which hides its program"), "\(run)")
        #expect(run.output.hasSuffix("exit 69\n") && !run.output.contains("got app:x"), "\(run)")
    }
}
