import DBus
import OpenURLBus
import Testing

@testable import URLOpener

/// The exit statuses, and the failures that have them.
@Suite struct FailureTests {
    private static let statuses: [(code: OpenURLError.Code, status: Int32)] = [
        (.declined, 1), (.launchVetoed, 2), (.noHandler, 3), (.launchFailed, 4), (.handlerCrashed, 5), (.timedOut, 6),
        (.notAllowed, 7), (.limitsExceeded, 8), (.loopDetected, 9), (.notQueued, 10), (.cancelled, 11),
        (.invalidReply, 13), (.alreadyClaimed, 12), (.malformedURL, 65),
    ]

    @Test func everyCauseHasItsExitStatus() {
        #expect(Self.statuses.map(\.code) == OpenURLError.Code.allCases)
        for (code, status) in Self.statuses {
            #expect(code.exitStatus == status)
            let failure = CommandFailure(OpenURLError(code, "why"))
            #expect(failure == CommandFailure(code.errorName, "why", exitStatus: status))
        }
        let others = [0, ExitStatus.usage, ExitStatus.unavailable, ExitStatus.inputOutput]
        #expect(others == [0, 64, 69, 74])
        #expect(Set(Self.statuses.map(\.status) + others).count == Self.statuses.count + others.count)
    }

    @Test(
        arguments: [
            ("org.openurl.Error.Declined", 1, "why"), ("org.openurl.Error.NewerThanThis", 40, "why"),
            ("org.freedesktop.DBus.Error.InvalidArgs", 64, "why"),
            ("org.freedesktop.DBus.Error.LimitsExceeded", 8, "why"), ("org.freedesktop.DBus.Error.Failed", 40, "why"),
            (
                "org.freedesktop.DBus.Error.ServiceUnknown", 69,
                "the router is not running, and the bus cannot start it; start openurld, or run 'openurl doctor' to see why"
            ),
            (
                "org.freedesktop.DBus.Error.NoReply", 69,
                "the router exited before it answered; whether the request arrived is unknown"
            ),
            (
                "org.freedesktop.DBus.Error.UnknownMethod", 69,
                "the router does not know this request; are openurl and openurld the same version? (why)"
            ),
            (
                "org.freedesktop.DBus.Error.Spawn.ExecFailed", 69,
                "the router cannot be started: why; run openurld by hand to see the reason"
            ),
            (
                "org.freedesktop.DBus.Error.TimedOut", 69,
                "the router cannot be started: why; run openurld by hand to see the reason"
            ),
        ] as [(ErrorName, Int32, String)]
    )
    func anErrorOfTheBusHasItsExitStatus(name: ErrorName, status: Int32, message: String) {
        let failure = CommandFailure(.remote(RemoteError(name, "why")), refusal: 40)
        #expect(failure == CommandFailure(name, message, exitStatus: status))
    }

    /// The router calls text that cannot be an identifier a wrong argument.
    @Test(arguments: [
        ("nonsense", true), ("no.sense!", true), (":1.2", true), ("org.openurl.Router1", true),
        ("org.freedesktop.DBus", true), ("com.acme.todolist", false), ("", false),
    ])
    func textThatIsNoIdentifierIsAnUnknownHandler(id: String, isUnknown: Bool) {
        let wrong = CommandFailure(.invalidArguments, "why", exitStatus: 64)
        let message = "no handler is registered as \(id): why; 'openurl list' shows all that are"
        let unknown = CommandFailure(OpenURLError.Code.noHandler.errorName, message, exitStatus: 3)
        #expect(wrong.ofHandler(id) == (isUnknown ? unknown : wrong))
        let other = CommandFailure(.failed, "why", exitStatus: 1)
        #expect(other.ofHandler(id) == other)
    }

    @Test func missingBusHasAdvice() {
        let variables = ["XDG_RUNTIME_DIR": "/nonexistent", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"]
        let failure = CommandFailure(ConnectionError.timedOut) { variables[$0] }
        let fact = "cannot reach the router, because there is no session bus: no answer came in time"
        let advice = "use a terminal of your desktop, or 'dbus-run-session -- sh' for a shell with a separate bus"
        #expect(failure.message == "\(fact); \(advice)")
        #expect(failure.exitStatus == 69)
    }

    @Test func anErrorWithoutAMessageIsNamed() {
        let failure = CommandFailure(.remote(RemoteError("com.example.Error.A", "")), refusal: 1)
        #expect(failure.message == "com.example.Error.A")
    }

    @Test func aCallWithoutAnAnswerHasItsExitStatus() {
        for (error, status) in [
            (.disconnected, 69), (.timedOut, 69), (.cancelled, 69), (.notSent(.tooLarge(limit: 5)), 8),
            (.unexpectedReply(.invalidValue("x")), 69),
        ] as [(CallError, Int32)] {
            #expect(CommandFailure(error, refusal: 40).exitStatus == status)
        }
    }

    // MARK: Lines

    @Test(arguments: [
        ("one line", ["one line"]), ("", [""]), ("\n\n", [""]), ("\na\n\nb\r\nc\n", ["a", "", "b", "c"]),
        ("a\u{1B}[2J\n\tb\u{2028}c\rd", ["a\\u{1B}[2J", "\\u{9}b\\u{2028}c\\u{D}d"]),
    ])
    func aMessageKeepsItsLines(message: String, lines: [String]) {
        #expect(CommandFailure("com.example.Error.A", message, exitStatus: 1).lines == lines)
    }

    @Test func furtherLinesAreIndented() throws {
        let failure = CommandFailure("com.example.Error.A", "a\nopenurl: b\n\nc", exitStatus: 1)
        let run = try captured { invocation in
            invocation.errors.print(failure)
            invocation.errors.print(failure, of: "x\ny")
            return 0
        }
        #expect(run.errors == "openurl: a\n  openurl: b\n\n  c\nopenurl: x\\u{A}y: a\n  openurl: b\n\n  c\n")
    }

    // MARK: Batches

    /// Does something with each item and fails for some.
    private func perform(_ items: [String], printsJSON: Bool = false, isQuiet: Bool = false) throws -> CapturedRun {
        try captured { invocation in
            let batch = Batch(key: "item", printsJSON: printsJSON, isQuiet: isQuiet, invocation: invocation)
            return batch.perform(items, name: \.self) { (item) throws(CommandFailure) in
                if item == "bad" { throw CommandFailure("com.example.Error.A", "it is bad", exitStatus: 5) }
                if item == "worse" { throw CommandFailure("com.example.Error.B", "it is worse", exitStatus: 6) }
                invocation.output.print(item)
            }
        }
    }

    @Test func theFirstFailureIsTheExitStatus() throws {
        let run = try perform(["a", "worse", "b", "bad"])
        #expect(run.status == 6)
        #expect(run.lines == ["a", "b"])
        #expect(run.errors == "openurl: worse: it is worse\nopenurl: bad: it is bad\n")
        #expect(try perform(["bad"]).errors == "openurl: it is bad\n")
        #expect(try perform(["a", "b"]).status == 0)
        #expect(try perform([]).status == 0)
    }

    @Test func aFailureIsAnObjectInJSON() throws {
        let run = try perform(["bad", "a"], printsJSON: true)
        #expect(run.status == 5)
        #expect(run.errors == "")
        #expect(
            run.lines == [#"{"item":"bad","error":"com.example.Error.A","message":"it is bad","exit":5}"#, "a"]
        )
    }

    @Test func aQuietBatchSaysNothingOnStandardError() throws {
        let run = try perform(["bad"], isQuiet: true)
        #expect(run.status == 5)
        #expect(run.errors == "")
        #expect(run.output == "")
    }

    @Test func aURLThatIsNotUTF8IsRefused() {
        let url = CommandLineArgument.notUTF8(Array("a:".utf8) + [0xFF])
        let failure = #expect(throws: CommandFailure.self) { try url.urlText() }
        #expect(failure?.exitStatus == 65)
        #expect(failure?.message.hasPrefix("at byte offset 2: only ASCII is allowed in a URL") == true)
    }
}
