import Foundation
import PrivateBus
import Testing

/// `openurl output` with the places that a router may name.
@Suite(.timeLimit(.minutes(10))) struct OutputCommandTests {
    /// Writes a `journalctl` that prints its arguments, and returns the variables with which it is found.
    private func journalctl(_ script: String, for router: StandInRouter) throws -> [String: String] {
        let directory = router.bus.directory.appending(path: "programs")
        try directory.createDirectory()
        let program = directory.appending(path: "journalctl")
        try program.write("#!/bin/sh\n\(script)\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.path)
        return ["PATH": "\(directory.path):/usr/bin:/bin"]
    }

    @Test func fileIsShownAsTheHandlerWroteIt() async throws {
        try await StandInRouter.with { router in
            try router.outputFile.write("greeting World\n\u{1B}[31mred\nlast")
            let run = try await openurl(["output", "com.acme.todolist"], on: router)
            #expect(run.status == 0 && run.errors.isEmpty, "\(run)")
            #expect(run.output == "greeting World\n\u{1B}[31mred\nlast")
            let last = try await openurl(["output", "-n", "1", "com.acme.todolist"], on: router)
            #expect(last.output == "last")
            let terminal = try await onTerminal(
                "output",
                "--lines",
                "2",
                "com.acme.todolist",
                environment: router.environment
            )
            #expect(terminal.output == "\\u{1B}[31mred\nlast\n")
        }
    }

    @Test func aMissingFileHasNoOutput() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["output", "com.acme.todolist"], on: router)
            #expect(run == CommandRun(status: 0, output: "", errors: ""))
            let terminal = try await onTerminal("output", "com.acme.todolist", environment: router.environment)
            #expect(terminal.output == "openurl: com.acme.todolist has written nothing\n")
        }
    }

    @Test func linesOfTheJournalComeFromJournalctl() async throws {
        try await StandInRouter.with { router in
            let variables = try journalctl(#"echo "$@"; printf '\033'"#, for: router)
            let run = try await openurl(["output", "-f", "-n", "3", "com.acme.idle"], on: router, variables)
            #expect(run.status == 0 && run.errors.isEmpty, "\(run)")
            let words = "--user --quiet --no-pager --output=cat --lines=3 --follow --identifier=com.acme.idle"
            #expect(run.output == "\(words)\n\u{1B}")
            let terminal = try await onTerminal(
                "output",
                "com.acme.idle",
                environment: router.environment.merging(variables) { $1 }
            )
            #expect(terminal.output.hasSuffix("--output=cat --identifier=com.acme.idle\n\\u{1B}\n"), "\(terminal)")
        }
    }

    @Test func failureOfJournalctlNamesTheCommand() async throws {
        try await StandInRouter.with { router in
            let hint = "the output is in the journal, and 'journalctl --user -t com.acme.idle' shows it"
            let variables = try journalctl("echo no journal >&2; exit 3", for: router)
            let failed = try await openurl(["output", "com.acme.idle"], on: router, variables)
            #expect(failed.status == 1)
            #expect(failed.errors == "no journal\nopenurl: journalctl exited with status 3; \(hint)\n")
            let empty = router.bus.directory.appending(path: "empty")
            try empty.createDirectory()
            let missing = try await openurl(["output", "com.acme.idle"], on: router, ["PATH": empty.path])
            #expect(missing.status == 1)
            #expect(missing.errors.hasPrefix("openurl: journalctl cannot be started: "), "\(missing)")
            #expect(missing.errors.hasSuffix("; \(hint)\n"))
        }
    }

    @Test func whatIsElsewhereIsSaid() async throws {
        try await StandInRouter.with { router in
            let byHand = try await openurl(["output", "com.acme.byhand"], on: router)
            #expect(byHand.status == 0 && byHand.errors.contains("com.acme.byhand was started by hand"), "\(byHand)")
            let lost = try await openurl(["output", "com.acme.lost"], on: router)
            #expect(lost.status == 1 && lost.errors.contains("the output of com.acme.lost is lost"), "\(lost)")
            let unknown = try await openurl(["output", "com.acme.todolst"], on: router)
            #expect(unknown.status == 3 && unknown.errors.contains("com.acme.todolist"), "\(unknown)")
        }
    }

    @Test func latestFailureIsTheOneThatEndedLast() async throws {
        try await StandInRouter.with { router in
            let run = try await openurl(["output", "com.acme.ended"], on: router)
            #expect(run.status == 0 && run.errors == "openurl: the latest request failed: it ended last\n", "\(run)")
        }
    }

    @Test(arguments: [["-n", "x"], ["-n", "-1"], [], ["a", "b"]])
    func wrongArgumentsAreRefused(arguments: [String]) async throws {
        #expect(try await openurl(["output"] + arguments).status == 64)
    }
}
