import Glibc
import OpenURLBus
import Testing

@testable import DBus

/// The round trip of every `a{sv}` of the contract. Unknown keys are dropped, and a value of another type is an error.
@Suite struct OptionsTests {
    // MARK: OpenOptions

    @Test func roundTripKeepsOpenOptions() throws {
        #expect(try recoded(OpenOptions()) == OpenOptions())
        #expect(try recoded(OpenOptions(), as: [String: Value].self) == [:])
        var options = OpenOptions()
        options.annotation = .structure(["a", .uint32(7)])
        options.handler = "com.example.app"
        options.timeout = .milliseconds(1500)
        options.inBackground = true
        options.isQueued = true
        options.activationToken = "token"
        options.desktopStartupID = "startup"
        options.fallback = ["a:b", "c:d"]
        options.handleToken = HandleToken(rawValue: "t1")
        options.requestID = RequestID(rawValue: "login-7")
        options.senderClass = .sandboxed
        #expect(try recoded(options) == options)
        #expect(
            try recoded(options, as: [String: Value].self) == [
                "annotation": .structure(["a", .uint32(7)]), "handler": "com.example.app", "timeout": .uint32(1500),
                "background": true, "delivery": "queued", "activation-token": "token", "desktop-startup-id": "startup",
                "fallback": .array(["a:b", "c:d"], of: "s"), "handle-token": "t1", "request-id": "login-7",
                "sender-class": "sandboxed",
            ]
        )
    }

    @Test(arguments: [.byte(50), .int16(50), .uint16(50), .int32(50), .int64(50), .uint64(50)] as [Value])
    func integerMayHaveAnyTypeThatHoldsIt(number: Value) throws {
        #expect(try recoded(["timeout": number], as: OpenOptions.self).timeout == .milliseconds(50))
    }

    @Test(arguments: [.int16(-1), .int32(-1), .int64(-1), .int64(1 << 32), .uint64(1 << 32)] as [Value])
    func integerThatDoesNotFitIsAnError(number: Value) throws {
        let found = try problem(["timeout": number], as: OpenOptions.self)
        #expect(found == "'timeout' must be of type 'u', not '\(number.signature)'")
    }

    @Test(arguments: samples) func annotationMayHaveAnyType(_ annotation: Value) throws {
        var options = OpenOptions()
        options.annotation = annotation
        #expect(try recoded(options) == options)
    }

    @Test(arguments: [
        (Duration.milliseconds(1), UInt32(1)), (.nanoseconds(1), 1), (.microseconds(1001), 2), (.zero, 0),
        (.seconds(-1), 0), (.seconds(10_000_000), .max), (.seconds(Int64.max), .max), (.seconds(Int64.min), 0),
        (.milliseconds(4_294_967_295), .max),
    ])
    func timeoutIsRoundedUpToMilliseconds(timeout: Duration, milliseconds: UInt32) throws {
        var options = OpenOptions()
        options.timeout = timeout
        #expect(try recoded(options, as: [String: Value].self) == ["timeout": .uint32(milliseconds)])
    }

    @Test func openOptionsOfAnotherTypeAreErrors() throws {
        for (key, signature) in [
            ("handler", "s"), ("timeout", "u"), ("background", "b"), ("activation-token", "s"),
            ("desktop-startup-id", "s"), ("fallback", "as"), ("delivery", "s"), ("at", "s"),
            ("every", "s"), ("notify", "s"), ("sender-class", "s"),
        ] as [(String, Signature)] {
            try expectType(signature, of: key, in: [:], as: OpenOptions.self)
        }
        let fallback = Array(repeating: Value.string("a:b"), count: OpenOptions.maximumFallbacks)
        #expect(try problem(["fallback": .array(fallback, of: "s")], as: OpenOptions.self) == nil)
        #expect(
            try problem(["fallback": .array(fallback + ["a:b"], of: "s")], as: OpenOptions.self)
                == "'fallback' has more than 16 URLs"
        )
        for key in ["handler", "desktop-entry"] {
            #expect(try problem([key: .string(String(repeating: "a", count: 255))], as: OpenOptions.self) == nil)
            #expect(
                try problem([key: .string(String(repeating: "a", count: 256))], as: OpenOptions.self)
                    == "'handler' or 'desktop-entry' is longer than 255 bytes"
            )
        }
        #expect(try problem(["delivery": "never"], as: OpenOptions.self) == "'delivery' must be 'now' or 'queued'")
        #expect(
            try problem(["sender-class": "nobody"], as: OpenOptions.self)
                == "'nobody' is not a class; the classes are handler, user, sandboxed, remote, unknown"
        )
        #expect(try problem(["delivery": "queued"], as: OpenOptions.self) == nil)
        #expect(try problem(["delivery": "now"], as: OpenOptions.self) == nil)
        for (size, problem) in [
            (0, "'notify' must have 1 to 1024 bytes"), (1024, nil), (1025, "'notify' must have 1 to 1024 bytes"),
        ]
            as [(Int, String?)]
        {
            let text = Value.string(String(repeating: "a", count: size))
            #expect(try OpenURLBusTests.problem(["notify": text], as: OpenOptions.self) == problem)
        }
        let reminder: [String: Value] = ["notify": "a"]
        #expect(try recoded(reminder, as: OpenOptions.self).isQueued)
    }

    @Test func unknownKeysAreIgnored() throws {
        let unknown: [String: Value] = ["from-the-future": .int64(1), "Timeout": "soon", "": true]
        #expect(try recoded(unknown) == OpenOptions())
        #expect(try recoded(unknown) == OpenContext())
        #expect(try recoded(unknown.merging(["id": "a"]) { $1 }) == HandlerStatus(id: "a", state: .absent))
        let result = try recoded(unknown.merging(["handler": "a", "way": "active"]) { $1 }, as: OpenResult.self)
        #expect(result == OpenResult(handler: "a", way: .active, reply: [:], trace: []))
        let entry = try recoded(unknown.merging(["id": "a"]) { $1 }, as: HandlerEntry.self)
        #expect(entry.id == "a")
    }

    // MARK: OpenContext

    @Test func roundTripKeepsOpenContext() throws {
        #expect(try recoded(OpenContext()) == OpenContext())
        var context = OpenContext()
        context.sourceApplication = "com.example.sender"
        context.source.pid = 42
        context.source.via = ["/bin/y"]
        context.source.isIntermediary = true
        context.source.uid = 1000
        context.source.executable = "/bin/x"
        context.source.unit = "x.scope"
        context.source.uniqueName = ":1.7"
        context.annotation = .array([], of: "(sv)")
        context.activationToken = "token"
        context.desktopStartupID = "startup"
        context.hops = 3
        context.accepted = .max
        context.requestID = "12"
        context.wantsReply = true
        context.inBackground = true
        context.notifications = ["kind": .uint32(9)]
        #expect(try recoded(context) == context)
        #expect(
            try recoded(context, as: [String: Value].self) == [
                "source-application": "com.example.sender",
                "source": .options([
                    "pid": .uint32(42), "uid": .uint32(1000), "executable": "/bin/x", "unit": "x.scope",
                    "unique-name": ":1.7", "via": .array(["/bin/y"], of: "s"), "intermediary": true,
                ]),
                "annotation": .array([], of: "(sv)"), "activation-token": "token", "desktop-startup-id": "startup",
                "hops": .uint32(3), "accepted": .uint64(.max), "request-id": "12",
                "wants-reply": true, "background": true,
                "notifications": .options(["kind": .uint32(9)]),
            ]
        )
    }

    @Test func openContextOfAnotherTypeIsAnError() throws {
        for (key, signature) in [
            ("source-application", "s"), ("request-id", "s"), ("activation-token", "s"), ("desktop-startup-id", "s"),
            ("hops", "u"),
            ("accepted", "t"), ("wants-reply", "b"), ("background", "b"), ("source", "a{sv}"),
            ("notifications", "a{sv}"),
        ] as [(String, Signature)] {
            try expectType(signature, of: key, in: [:], as: OpenContext.self)
        }
        for (key, signature) in [
            ("pid", "u"), ("uid", "u"), ("executable", "s"), ("unit", "s"), ("unique-name", "s"),
            ("via", "as"), ("intermediary", "b"),
        ] as [(String, Signature)] {
            for sample in samples(otherThan: signature) {
                let found = try problem(["source": .options([key: sample])], as: OpenContext.self)
                #expect(found == "'\(key)' must be of type '\(signature)', not '\(sample.signature)'")
            }
        }
    }

    // MARK: OpenResult, OpenOutcome, OpenAnswer

    private let trace = [
        TracePhase("processStarted", microseconds: 0), TracePhase("open", microseconds: .max, answer: false),
    ]

    @Test func roundTripKeepsOpenResult() throws {
        for way: OpenResult.Way in [.launched, .active, .fallback] {
            let result = OpenResult(handler: "com.example.app", way: way, reply: ["k": .uint32(1)], trace: trace)
            #expect(try recoded(result) == result)
        }
        let result = OpenResult(handler: "com.example.app", way: .launched, reply: [:], trace: trace)
        #expect(
            try recoded(result, as: [String: Value].self) == [
                "handler": "com.example.app", "way": "launched", "reply": .options([:]),
                "trace": .array(
                    [
                        .structure(["processStarted", .uint64(0), true]),
                        .structure(["open", .uint64(.max), false]),
                    ],
                    of: "(stb)"
                ),
            ]
        )
    }

    @Test func openResultOfAnotherTypeIsAnError() throws {
        let options: [String: Value] = ["handler": "a", "way": "active"]
        for (key, signature) in [
            ("handler", "s"), ("way", "s"), ("reply", "a{sv}"), ("trace", "a(stb)"),
        ] as [(String, Signature)] {
            try expectType(signature, of: key, in: options, as: OpenResult.self)
        }
        for incomplete: [String: Value] in [[:], ["handler": "a"], ["way": "active"]] {
            #expect(try problem(incomplete, as: OpenResult.self) == "a result without a handler or a way")
        }
        #expect(try problem(["handler": "a", "way": "by-air"], as: OpenResult.self) == "'by-air' is not a way")
    }

    @Test func openOutcomeIsAResultOrAnError() throws {
        let result = OpenResult(handler: "com.example.app", way: .active, reply: ["k": "v"], trace: trace)
        guard case .opened(result) = try recoded(OpenOutcome.opened(result), as: OpenOutcome.self) else {
            Issue.record("no result")
            return
        }
        for error in OpenURLError.Code.allCases.map({ RemoteError($0.errorName, "why") })
            + [RemoteError("com.example.Error.Other", "")]
        {
            guard case .failed(error) = try recoded(OpenOutcome.failed(error), as: OpenOutcome.self) else {
                Issue.record("not \(error)")
                continue
            }
        }
        guard
            case .failed(RemoteError(.failed, "")) = try recoded(
                ["error": "no name"] as [String: Value],
                as: OpenOutcome.self
            )
        else {
            Issue.record("a text that is no name is no error")
            return
        }
        #expect(try problem([:], as: OpenOutcome.self) == "a result without a handler or a way")
        try expectType("s", of: "error", in: [:], as: OpenOutcome.self)
        try expectType("s", of: "message", in: ["error": "com.example.Error.A"], as: OpenOutcome.self)
    }

    @Test func openOutcomesKeepTheirOrder() throws {
        let outcomes: [OpenOutcome] = [
            .failed(RemoteError("com.example.Error.A", "a")),
            .opened(OpenResult(handler: "b", way: .active, reply: [:], trace: [])),
            .failed(RemoteError("com.example.Error.C", "c")),
        ]
        let names: [String] = try recoded(outcomes, as: [OpenOutcome].self).map { outcome in
            switch outcome {
            case .opened(let result): result.handler
            case .failed(let error): error.message
            }
        }
        #expect(names == ["a", "b", "c"])
    }

    @Test func roundTripKeepsOpenAnswer() throws {
        for answer in [
            OpenAnswer(isHandled: true, reply: ["k": .array([.byte(0)], of: "y")], trace: trace),
            OpenAnswer(isHandled: false, reply: [:], trace: []),
        ] {
            #expect(try recoded(answer) == answer)
        }
        #expect(
            try problem([:], as: OpenAnswer.self) == "expected 'ba{sv}a(stb)', found 'a{sv}'"
        )
    }

    @Test func phaseIsMeasuredFromItsStart() {
        #expect(TracePhase("a", since: .max).microseconds == 0)
        #expect(TracePhase("a", since: 0).microseconds > 0)
        #expect(TracePhase("a", since: 0).answer)
    }

    // MARK: HandlerEntry, HandlerStatus

    @Test func roundTripKeepsHandlerEntry() throws {
        var entry = HandlerEntry(
            id: "com.example.app",
            name: "App",
            executable: "/bin/app",
            schemes: ["app", "app+x"],
            kind: .known(.native),
            isFixed: true,
            state: .known(.active),
            warnings: ["odd"]
        )
        entry.manifest = "/handlers/App.app/Info.plist"
        entry.bundle = "/handlers/App.app"
        entry.desktopEntry = "/applications/app.desktop"
        entry.urlNames = ["com.example.app": "An app"]
        entry.typeNames = ["A kind": "A kind of file"]
        entry.launchImage = "/handlers/Default.png"
        entry.reach = .known(.listed)
        #expect(try recoded(entry) == entry)
        #expect(
            try recoded(entry, as: [String: Value].self) == [
                "id": "com.example.app", "name": "App", "manifest": "/handlers/App.app/Info.plist",
                "bundle": "/handlers/App.app", "desktop-entry": "/applications/app.desktop", "executable": "/bin/app",
                "schemes": .array(["app", "app+x"], of: "s"), "kind": "native", "reach": "listed", "fixed": true,
                "state": "active",
                "warnings": .array(["odd"], of: "s"), "launch-image": "/handlers/Default.png",
                "url-names": .dictionary(["com.example.app": "An app"], key: "s", value: "s"),
                "type-names": .dictionary(["A kind": "A kind of file"], key: "s", value: "s"),
            ]
        )
        let least = try recoded(["id": "a"] as [String: Value], as: HandlerEntry.self)
        #expect(
            least
                == HandlerEntry(
                    id: "a",
                    name: "a",
                    executable: "",
                    schemes: [],
                    kind: .absent,
                    isFixed: false,
                    state: .absent,
                    warnings: []
                )
        )
    }

    @Test func annotationHoldsAtMostSixteenDescriptors() throws {
        func options(_ count: Int) -> OpenOptions {
            var options = OpenOptions()
            let files = (0..<count).map { _ in Value.unixFD(UnixFD(owning: dup(STDERR_FILENO))) }
            options.annotation = .options(["files": .array(files, of: "h")])
            return options
        }
        #expect(throws: Never.self) { try options(16).validate() }
        #expect(throws: MessageDecodingError.invalidValue("'annotation' has more than 16 descriptors")) {
            try options(17).validate()
        }
    }

    @Test func handlerEntryOfAnotherTypeIsAnError() throws {
        #expect(try problem([:], as: HandlerEntry.self) == "a handler without an id")
        for (key, signature) in [
            ("id", "s"), ("name", "s"), ("manifest", "s"), ("bundle", "s"), ("desktop-entry", "s"), ("executable", "s"),
            ("schemes", "as"), ("kind", "s"),
            ("reach", "s"), ("fixed", "b"), ("state", "s"), ("warnings", "as"), ("url-names", "a{ss}"),
            ("launch-image", "s"),
        ] as [(String, Signature)] {
            try expectType(signature, of: key, in: ["id": "a"], as: HandlerEntry.self)
        }
    }

    @Test func roundTripKeepsHandlerStatus() throws {
        let stopped = HandlerStatus(id: "com.example.app", state: .known(.notRunning))
        #expect(try recoded(stopped) == stopped)
        #expect(
            try recoded(stopped, as: [String: Value].self) == ["id": "com.example.app", "state": "notRunning"]
        )
        var running = HandlerStatus(id: "a", state: .known(.active), pid: 1, since: 2, residentMemory: 3)
        running.backgroundTasks = ["sync", "sync"]
        running.isOverdue = true
        (running.ended, running.exitStatus, running.signal, running.endReason) = (4, 5, 6, "why")
        #expect(try recoded(running) == running)
        #expect(
            try recoded(running, as: [String: Value].self) == [
                "id": "a", "state": "active", "pid": .uint32(1), "since": .uint64(2), "memory": .uint64(3),
                "background-tasks": .array(["sync", "sync"], of: "s"), "overdue": true, "ended": .uint64(4),
                "exit-status": .uint32(5), "signal": .uint32(6), "end-reason": "why",
            ]
        )
    }

    @Test func handlerStatusOfAnotherTypeIsAnError() throws {
        #expect(try problem([:], as: HandlerStatus.self) == "a status without an id")
        for (key, signature) in [
            ("id", "s"), ("state", "s"), ("pid", "u"), ("since", "t"), ("memory", "t"), ("background-tasks", "as"),
            ("overdue", "b"), ("ended", "t"), ("exit-status", "u"), ("signal", "u"), ("end-reason", "s"),
        ] as [(String, Signature)] {
            try expectType(signature, of: key, in: ["id": "a"], as: HandlerStatus.self)
        }
    }

    /// A task with a misspelt time would run at once.
    @Test func unknownOptionOfATaskIsAnError() throws {
        let error = try #require(throws: MessageDecodingError.self) {
            try recoded(["every": .uint64(3_600_000)] as [String: Value], as: TaskOptions.self)
        }
        #expect(
            "\(error)".contains("the key 'every' is unknown; the keys are after, interval, requiring"),
            "\(error)"
        )
        #expect(
            try recoded(["interval": .uint64(3_600_000)] as [String: Value], as: TaskOptions.self).interval == 3_600_000
        )
    }
}
