import Foundation
import PrivateBus
import Testing

/// Programs that stand in for the router, and what the command makes of them.
@Suite(.timeLimit(.minutes(5))) struct FalseRouterTests {
    private static let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "FalseRouters")

    /// Runs a script of `FalseRouters`, which runs `openurl app:x`.
    private func run(_ script: String) async throws -> CommandRun {
        // The script may run as another user, who cannot reach the directory of the build.
        let bus = try await PrivateBus(rules: "<policy context=\"default\"><allow user=\"*\"/></policy>") { directory in
            for file in [RouterProcess.command, Self.directory.appending(path: script)] {
                let copy = directory.appending(path: file.lastPathComponent)
                try FileManager.default.copyItem(at: file, to: copy)
            }
        }
        defer { bus.stop() }
        return try await CommandRun(
            URL(filePath: "/usr/bin/env"),
            ["timeout", "--signal=KILL", "60", "/usr/bin/python3", "-u"]
                + [script, "openurl"].map { bus.directory.appending(path: $0).path } + ["app:x"],
            bus.environment,
            in: bus.directory
        )
    }

    /// The signal comes when the command is about to ask, so no call of the system reports it.
    @Test func interruptJustBeforeTheQuestionIsNotLost() async throws {
        let run = try await run("interrupt_before_question.py")
        #expect(run.output.hasSuffix("\nexit 11"), "\(run)")
    }

    @Test func processThatHidesItsProgramGetsNoURL() async throws {
        let run = try await run("hidden_router.py")
        #expect(run.output.contains("which hides its program"), "\(run)")
        #expect(run.output.hasSuffix("exit 69\n") && !run.output.contains("got app:x"), "\(run)")
    }
}
