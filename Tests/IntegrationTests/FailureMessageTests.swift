import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// The reasons that a sender is told for the failures of real processes.
@Suite(.timeLimit(.minutes(10))) struct FailureMessageTests {
    private static let id = "com.example.script"
    private static let mayHaveActed = "before it answered; it may have acted on the URL"

    /// Starts a router whose handler of `script:` fails in a way that the program `failing_handler` knows.
    private func router(_ way: [String], _ extra: [String: Any] = [:]) async throws -> RouterProcess {
        try await RouterProcess { try ScriptHandler.write(Self.id, "failing_handler", way, in: $0, extra: extra) }
    }

    /// Starts a router whose handler of `script:` is a program with this text.
    private func router(_ script: String, _ extra: [String: Any] = [:]) async throws -> RouterProcess {
        try await RouterProcess { directory in
            let program = directory.appending(path: "script")
            try Data(script.utf8).write(to: program)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.path)
            let keys: [String: Any] = ["CFBundleExecutable": program.path, "OUArguments": [String]()]
            try RouterProcess.write(Self.id, [], in: directory, extra: keys.merging(extra) { $1 })
        }
    }

    // MARK: A handler with one thread

    /// The handler cannot answer a question while its `open` works. Neither that silence nor an earlier way to the background
    /// counts against its next URL.
    @Test func slowHandlerWithOneThreadIsNotKilled() async throws {
        let keys: [String: Any] = ["OUTransitionTimeout": 0.3, "OUOpenTimeout": 3]
        let router = try await router(["slow"], keys)
        defer { router.stop() }
        let pid = try await router.open("script:fast", Self.patient).reply["pid"]
        try await router.lifecycle(LifecycleInterface.background, Self.id)
        for number in 1...3 {
            #expect(try await router.open("script:slow\(number)").reply["pid"] == pid)
        }
        // The way to the background waits behind the URL.
        try await router.lifecycle(LifecycleInterface.background, Self.id)
        let states = try await router.states()
        async let slow = router.open("script:slow")
        #expect(try await states.next(of: Self.id) == "active")
        try await router.lifecycle(LifecycleInterface.background, Self.id)
        #expect(try await slow.reply["pid"] == pid)
        #expect(try await router.open("script:fast").reply["pid"] == pid)
    }

    @Test func childWithTheConnectionDoesNotKeepTheHandlerUnreachable() async throws {
        let router = try await router(["fork"])
        defer { router.stop() }
        for _ in 0..<2 {
            _ = try await router.open("script:x", Self.patient)
            let error = try await router.failure("script:fork", Self.patient)
            #expect(error.code == .handlerCrashed, "\(error.message)")
            #expect(error.message.contains("exited with status 1"), "\(error.message)")
        }
        #expect(try await router.open("script:x", Self.patient).way == .launched)
    }

    private static var patient: OpenOptions {
        var options = OpenOptions()
        options.timeout = .seconds(60)
        return options
    }

    // MARK: Launch

    @Test func failedLaunchQuotesTheLastLineOfTheOutput() async throws {
        let router = try await RouterProcess {
            try ScriptHandler.write(Self.id, "unstartable_handler", in: $0)
        }
        defer { router.stop() }
        let exit = "\(Self.id) exited with status 1 before it was ready"
        let hint = "; it wrote: ModuleNotFoundError: No module named 'no_such_module'"
        #expect(try await router.failure("script:x") == OpenURLError(.launchFailed, exit + hint + Self.outputHint))
    }

    /// The kernel says of some of these that the script itself does not exist, and `env` exits with 127 for others.
    @Test(arguments: [
        ("print(1)\n", "has no '#!' in its first line to name its interpreter; begin it with a line such as "),
        (
            "#!/usr/bin/python3\r\nprint(1)\r\n",
            "has Windows line endings (CR LF), so its interpreter is not found; run: "
        ),
        (
            "#!/usr/bin/env python3\r\nprint(1)\r\n",
            "has Windows line endings (CR LF), so its interpreter is not found; run: "
        ),
        (
            "#!/nowhere/no-such-tool\n",
            "is a script for /nowhere/no-such-tool, which does not exist; install no-such-tool, "
        ),
        (
            "#!/usr/bin/env no-such-tool\n",
            "is a script for no-such-tool, which is not in any directory on PATH; install "
        ),
        ("", "is empty; build it again"),
    ])
    func faultOfTheProgramIsNamed(script: String, fault: String) async throws {
        let router = try await router(script)
        defer { router.stop() }
        let error = try await router.failure("script:x")
        #expect(error.code == .launchFailed)
        let program = "\(router.bus.directory.path)/script"
        #expect(error.message.hasPrefix("\(Self.id) cannot be started: \(program) \(fault)"), "\(error.message)")
    }

    @Test func commandThatIsNoHandlerHasAdvice() async throws {
        let advice = "if it is a command that only gets the URL as an argument, name it in OUCommand"
        for (script, code) in [("exit 0", OpenURLError.Code.launchFailed), ("exec sleep 60", .timedOut)] {
            let router = try await router("#!/bin/sh\n\(script)\n", ["OULaunchTimeout": 1])
            let error = try await router.failure("script:x")
            router.stop()
            #expect(error.code == code && error.message.hasSuffix("; \(advice)"), "\(error.message)")
        }
    }

    @Test func launchWithoutTheNameTellsTheNamesThatWereTaken() async throws {
        let id = "com.example.wrong"
        let router = try await RouterProcess { directory in
            let log = directory.appending(path: "log").path
            let keys: [String: Any] = ["OUArguments": ["com.example.other", log], "OULaunchTimeout": 1]
            try RouterProcess.write(id, [], in: directory, extra: keys)
        }
        defer { router.stop() }
        let error = try await router.failure("wrong:x")
        #expect(error.code == .timedOut)
        let reason =
            "\(id) did not take its name on the bus within 1 second of its start, but took com.example.other"
        #expect(error.message.hasPrefix("\(reason); its process was killed"), "\(error.message)")
        #expect(error.message.hasSuffix("; give the program the identifier that its manifest has"), "\(error.message)")
    }

    // MARK: Crash

    @Test(arguments: [
        (["signal", "11"], "was ended by signal 11 (Segmentation fault)"), (["exit", "3"], "exited with status 3"),
        (["exit", "0"], "exited with status 0"),
    ])
    func crashNamesTheEndOfTheProcess(way: [String], end: String) async throws {
        let router = try await router(way)
        defer { router.stop() }
        // The first URL crashes the process right after its launch.
        for _ in 0..<2 {
            let error = try await router.failure("script:x")
            #expect(error.code == .handlerCrashed)
            #expect(error.message.hasPrefix("\(Self.id) \(end) \(Self.mayHaveActed)"), "\(error.message)")
        }
    }

    @Test func crashQuotesTheLastLine() async throws {
        let router = try await router(["signal", "6"])
        defer { router.stop() }
        let end = "was ended by signal 6 (Aborted) \(Self.mayHaveActed); it wrote: no disk left"
        let message = "\(Self.id) \(end)\(Self.outputHint)"
        #expect(try await router.failure("script:x") == OpenURLError(.handlerCrashed, message))
        #expect(try String(contentsOfFile: outputFile(router), encoding: .utf8).contains("no disk left"))
        // The command that shows the output does not advise to run it.
        let run = try await router.openurl("output", Self.id)
        #expect(run.errors.hasSuffix("; it wrote: no disk left\n"), "\(run)")
    }

    @Test func crashOfASwiftHandlerQuotesItsFatalError() async throws {
        let id = "com.example.swift"
        let router = try await RouterProcess { directory in
            // The backtracer writes after the fatal error, and needs a while.
            let extra: [String: Any] = ["OUEnvironment": ["SWIFT_BACKTRACE": "enable=yes"]]
            try RouterProcess.write(id, ["fatal=now"], in: directory, extra: extra)
        }
        defer { router.stop() }
        let error = try await router.failure("swift://now", Self.patient)
        #expect(error.code == .handlerCrashed)
        #expect(
            error.message.contains("; it wrote: ") && error.message.contains("Fatal error: there is no list; "),
            "\(error.message)"
        )
        #expect(error.message.hasSuffix("; 'openurl output \(id)' shows its output"), "\(error.message)")
    }

    /// The end of a message about a process that has written something.
    private static var outputHint: String { "; 'openurl output \(id)' shows its output" }

    /// Python names the place of a mistake some lines above the mistake itself.
    @Test func mistakeInPythonHasItsPlace() async throws {
        let router = try await router("#!/usr/bin/python3\nimport sys\ndef answer(:\n    pass\n")
        defer { router.stop() }
        let message = try await router.failure("script:x").message
        let place = "(File \"\(router.bus.directory.path)/script\", line 3)"
        #expect(message.contains("; it wrote: SyntaxError: invalid syntax \(place); 'openurl output"), "\(message)")
    }

    /// The file with the output of the handler.
    private func outputFile(_ router: RouterProcess) -> String {
        router.bus.directory.appending(path: "XDG_STATE_HOME/openurl/output/\(Self.id).log").path
    }

    @Test func crashOfAProcessOfAnEarlierRouterIsOnlyItsEnd() async throws {
        let router = try await router(["exit at crash"])
        defer { router.stop() }
        _ = try await router.open("script:x")
        try await router.restart()
        let expected = OpenURLError(.handlerCrashed, "\(Self.id) ended \(Self.mayHaveActed)")
        #expect(try await router.failure("script:crash") == expected)
    }

    @Test func handlerThatLeavesTheBusAndRunsHasNotEnded() async throws {
        let router = try await router(["leave the bus"])
        defer { router.stop() }
        let expected = OpenURLError(.handlerCrashed, "\(Self.id) left the bus \(Self.mayHaveActed)")
        #expect(try await router.failure("script:x") == expected)
    }

    // MARK: Answers

    @Test func answerOfTheWrongTypeIsNotADecline() async throws {
        let router = try await router(["wrong type"])
        defer { router.stop() }
        let reason = "answered with something other than 'ba{sv}a(stb)': expected 'ba{sv}a(stb)', found 's'"
        #expect(
            try await router.openurl("script:x")
                == CommandRun(status: 13, output: "", errors: "openurl: \(Self.id) \(reason)\n")
        )
    }

    @Test func exceptionIsOneLineAndItsTracebackIsInTheOutput() async throws {
        let router = try await router(["exception"])
        defer { router.stop() }
        let hint = "; 'openurl output \(Self.id)' shows the traceback"
        for (way, message) in [
            ("x", "raised KeyError: 'name'\(hint)"), ("lines", "raised ValueError: no list\(hint)"),
            ("empty", "raised Missing\(hint)"), ("plain", "declined the URL: not today"),
        ] {
            let run = try await router.openurl("script:\(way)")
            #expect(run == CommandRun(status: 1, output: "", errors: "openurl: \(Self.id) \(message)\n"))
        }
        let output = try await router.openurl("output", Self.id).output
        #expect(output.hasPrefix("Traceback (most recent call last):\n"), "\(output)")
        #expect(output.contains(", in Open\n"), "\(output)")
        #expect(output.contains("\nKeyError: 'name'\nTraceback"), "\(output)")
        #expect(output.contains("\nValueError: no list\n  of two lines\n"), "\(output)")
        #expect(!output.contains("not today"))
        // The router follows the file, also after the process has ended.
        try await router.lifecycle(LifecycleInterface.terminate, Self.id)
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        #expect(log.contains("[output] KeyError: 'name'"), "\(log)")
    }
}
