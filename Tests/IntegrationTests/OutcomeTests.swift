import DBus
import Foundation
import OpenURLBus
import Testing

/// Each cause has one error name. Each test uses a real process.
@Suite(.timeLimit(.minutes(10))) struct OutcomeTests {
    @Test func firstURLLaunchesTheHandlerAndTheNextURLFindsItRunning() async throws {
        let router = try await RouterProcess(["com.example.cold": []])
        defer { router.stop() }
        var options = OpenOptions()
        options.annotation = .options(["k": .string("v")])
        let cold = try await router.open("cold://host?first", options)
        #expect(cold.handler == "com.example.cold")
        #expect(cold.way == .launched)
        #expect(cold.reply["annotation"] == .options(["k": .string("v")]))
        let phases = cold.trace.map(\.name)
        #expect(
            phases == [
                "processStarted", "ready", "willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive",
            ]
        )
        #expect(cold.trace.map(\.microseconds) == cold.trace.map(\.microseconds).sorted())

        let warm = try await router.open("COLD://host?second")
        #expect(warm.way == .active)
        #expect(warm.trace.map(\.name) == ["open"])
        #expect(warm.reply["pid"] == cold.reply["pid"])
        let log = try router.log(of: "com.example.cold")
        #expect(
            log.dropFirst() == [
                "willFinishLaunching", "didFinishLaunching", "open cold://host?first", "didBecomeActive",
                "open COLD://host?second",
            ]
        )
    }

    @Test func handlerSeesItsSenderAndGetsACleanEnvironment() async throws {
        let router = try await RouterProcess(["com.example.who": []])
        defer { router.stop() }
        let result = try await router.open("who:x")
        #expect(result.reply["source-pid"] == .uint32(UInt32(getpid())))
        #expect(result.reply["source-executable"]?.string?.hasPrefix("/") == true)
        #expect(result.reply["source-application"] == nil)
        guard case .array(let variables, _) = result.reply["environment"] else {
            Issue.record("no environment")
            return
        }
        let names = variables.compactMap { $0.string?.split(separator: "=").first.map(String.init) }
        #expect(names.contains("DBUS_SESSION_BUS_ADDRESS"))
        // The library takes its variables out of the environment, so the handler's own children do not get them. The
        // one for the journal comes from the private bus.
        let others = names.filter { $0 != "OPENURL_JOURNAL" }
        #expect(!others.contains { $0.hasPrefix("OPENURL_") || $0.hasPrefix("DBUS_STARTER") })
    }

    @Test(arguments: ["will", "did"])
    func launchMethodVetoesTheURLButNotTheLaunch(phase: String) async throws {
        let router = try await RouterProcess(["com.example.veto": ["\(phase)=no"]])
        defer { router.stop() }
        let error = try await router.failure("veto:first")
        #expect(error.code == .launchVetoed)
        #expect(error.message.contains("\(phase)FinishLaunching of com.example.veto"))
        #expect(try await router.open("veto:second").way == .active)
        let log = try router.log(of: "com.example.veto")
        #expect(
            log.dropFirst() == ["willFinishLaunching", "didFinishLaunching", "didBecomeActive", "open veto:second"]
        )
    }

    @Test func refusalOfAHandlerIsADecline() async throws {
        let router = try await RouterProcess([
            "com.example.no": ["decline=not today"], "com.example.mute": ["decline="],
            "com.example.thrower": ["throw=broken"],
        ])
        defer { router.stop() }
        #expect(
            try await router.failure("no:x") == OpenURLError(.declined, "com.example.no declined the URL: not today")
        )
        #expect(try await router.failure("mute:x") == OpenURLError(.declined, "com.example.mute declined the URL"))
        let thrown = try await router.failure("thrower:x")
        #expect(thrown.code == .declined)
        #expect(thrown.message.contains("broken"))
    }

    @Test func unclaimedAndMalformedURLsFailAtOnce() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        #expect(try await router.failure("unclaimed:x").code == .noHandler)
        #expect(try await router.failure("http://www.example.com/").code == .noHandler)
        #expect(try await router.failure("relative").code == .malformedURL)
        let space = try await router.failure("unclaimed: x")
        #expect(space.code == .malformedURL)
        #expect(space.message.hasPrefix("at byte offset 10:"))
        #expect(try await router.failure("unclaimed:" + String(repeating: "x", count: 70_000)).code == .limitsExceeded)
    }

    @Test func unstartableHandlerFailsTheLaunch() async throws {
        let router = try await RouterProcess(["com.example.exits": ["exit=3"]]) { directory in
            try RouterProcess.write(
                "com.example.missing",
                [],
                in: directory,
                extra: ["CFBundleExecutable": "/nonexistent/handler"]
            )
        }
        defer { router.stop() }
        let exits = try await router.failure("exits:x")
        #expect(exits == OpenURLError(.launchFailed, "com.example.exits exited with status 3 before it was ready"))
        let missing = try await router.failure("missing:x")
        #expect(missing.code == .launchFailed)
        #expect(missing.message.contains("/nonexistent/handler"))
    }

    @Test func handlerDeathIsACrashAndTheNextURLGetsANewProcess() async throws {
        let router = try await RouterProcess(["com.example.fragile": ["crash=bad"]])
        defer { router.stop() }
        let first = try await router.open("fragile://good")
        #expect(try await router.failure("fragile://bad").code == .handlerCrashed)
        let second = try await router.open("fragile://good")
        #expect(second.way == .launched)
        #expect(second.reply["pid"] != first.reply["pid"])
    }

    @Test(arguments: ["willFinishLaunching", "didFinishLaunching"])
    func watchdogKillsAHangingLaunch(phase: String) async throws {
        let router = try await RouterProcess { directory in
            try RouterProcess.write(
                "com.example.stuck",
                ["hang=\(phase)"],
                in: directory,
                // On a busy machine, the process takes its time until it hangs.
                extra: ["OULaunchTimeout": 2]
            )
        }
        defer { router.stop() }
        let error = try await router.failure("stuck:x")
        #expect(error.code == .timedOut)
        #expect(error.message.hasPrefix("\(phase) of com.example.stuck did not return"))
        let pid = try #require(
            try router.log(of: "com.example.stuck").first?.split(separator: " ").last.map(String.init)
        )
        #expect(!FileManager.default.fileExists(atPath: "/proc/\(pid)"))
    }

    @Test func watchdogKillsAHandlerWithoutItsName() async throws {
        let router = try await RouterProcess { directory in
            try RouterProcess.write(
                "com.example.lazy",
                ["startDelay=60000"],
                in: directory,
                extra: ["OULaunchTimeout": 0.3]
            )
        }
        defer { router.stop() }
        let error = try await router.failure("lazy:x")
        #expect(error.code == .timedOut)
        #expect(error.message.contains("did not take its name"))
    }

    @Test func hangingOpenEndsWithTheShorterTimeLimit() async throws {
        let router = try await RouterProcess(["com.example.hanging": ["hang=open"]]) { directory in
            try RouterProcess.write("com.example.limited", ["hang=open"], in: directory, extra: ["OUOpenTimeout": 2])
        }
        defer { router.stop() }
        var options = OpenOptions()
        options.timeout = .seconds(2)
        let error = try await router.failure("hanging:x", options)
        let message = "open of com.example.hanging did not return within 2 seconds; it may have acted on the URL"
        #expect(error == OpenURLError(.timedOut, message))
        #expect(try await router.failure("limited:x").code == .timedOut)
    }

    @Test func fallbackIsTriedWithoutAHandler() async throws {
        let router = try await RouterProcess(["com.example.plan": []])
        defer { router.stop() }
        var options = OpenOptions()
        options.fallback = ["also-unclaimed:x", "plan:b"]
        let result = try await router.open("unclaimed:x", options)
        #expect(result.way == .fallback)
        #expect(result.handler == "com.example.plan")
    }
}
