import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The lifecycle of handlers between their URLs, with real processes.
@Suite(.timeLimit(.minutes(10))) struct LifecycleTests {
    private static let first = "com.example.first"
    private static let second = "com.example.second"

    /// Starts a router that suspends handlers as soon as they are in the background.
    private func router(
        _ handlers: [String: [String]] = [first: [], second: []],
        _ extra: [String: Any] = [:]
    ) async throws -> RouterProcess {
        try await RouterProcess { directory in
            for (id, arguments) in handlers {
                let keys = ["OUSuspendDelay": 0.05].merging(extra) { $1 }
                try RouterProcess.write(id, arguments, in: directory, extra: keys)
            }
        }
    }

    /// Starts a router whose first handler exits at once as long as there is a file `sick`. A launch that goes on until
    /// a crash could take too much of the time in which crashes are counted.
    private func routerOfSickHandler() async throws -> RouterProcess {
        try await RouterProcess { directory in
            let sick = directory.appending(path: "sick").path
            try #require(FileManager.default.createFile(atPath: sick, contents: nil))
            let handler = RouterProcess.products.appending(path: "testhandler").path
            let program = directory.appending(path: "program").path
            try writeProgram("#!/bin/sh\n[ ! -e '\(sick)' ] || exit 3\nexec '\(handler)' \"$@\"\n", to: program)
            try RouterProcess.write(Self.first, [], in: directory, extra: ["CFBundleExecutable": program])
        }
    }

    /// Starts the first handler until it is not started any more, and makes it healthy.
    private func failRepeatedly(_ router: RouterProcess) async throws {
        for _ in 0..<3 {
            let error = try await router.failure("first:x")
            #expect(error.message.contains("exited with status 3"), "\(error)")
        }
        try FileManager.default.removeItem(at: router.bus.directory.appending(path: "sick"))
    }

    private func steps(_ result: OpenResult) -> [String] { result.trace.map(\.name) }

    // MARK: Threads

    /// The first thread of the pool starts others, for which libdispatch writes a message to the journal.
    @Test func libraryStartsNoThreadOfThePool() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        let started = try #require(router.log(of: Self.first).first)
        let tasks = URL(filePath: "/proc/\(started.filter(\.isNumber))/task")
        let threads = try FileManager.default.contentsOfDirectory(atPath: tasks.path).map {
            try String(contentsOf: tasks.appending(path: "\($0)/comm"), encoding: .utf8)
        }
        #expect(threads.contains("event loop\n"))
        #expect(!threads.contains { $0.contains("default-qos") }, "\(threads)")
    }

    // MARK: Sequences

    @Test func sequencesFollowTheGuide() async throws {
        let router = try await router()
        defer { router.stop() }
        let states = try await router.states()
        let cold = try await router.open("first:cold")
        #expect(cold.way == .launched)
        #expect(
            steps(cold) == [
                "processStarted", "ready", "willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive",
            ]
        )
        let warm = try await router.open("first:warm")
        #expect(warm.way == .active)
        #expect(steps(warm) == ["open"])
        #expect(try await states.next(of: Self.first) == "inactive")
        #expect(try await states.next(of: Self.first) == "active")

        // The second handler takes the foreground, and the router suspends the first after the delay.
        #expect(try await router.open("second:x").way == .launched)
        #expect(try await states.next(of: Self.first) == "inactive")
        #expect(try await states.next(of: Self.first) == "background")
        #expect(try await states.next(of: Self.first) == "suspended")
        let pid = try #require(try await router.status(of: Self.first).pid)
        try await router.waitUntilStopped(pid)
        #expect(try await router.connection.owner(of: BusName(Self.first)!) == nil)

        let woken = try await router.open("first:woken")
        #expect(woken.way == .woken)
        #expect(steps(woken) == ["processResumed", "ready", "willEnterForeground", "open", "didBecomeActive"])
        #expect(try await router.status(of: Self.first).pid == pid)
        #expect(
            try router.log(of: Self.first) == [
                "start \(pid)", "willFinishLaunching", "didFinishLaunching", "open first:cold", "didBecomeActive",
                "open first:warm", "willResignActive", "didEnterBackground", "willEnterForeground", "open first:woken",
                "didBecomeActive",
            ]
        )
    }

    @Test func backgroundURLKeepsTheForeground() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        var options = OpenOptions()
        options.inBackground = true
        let cold = try await router.open("second:cold", options)
        #expect(
            steps(cold).dropFirst(2).prefix(4) == [
                "willFinishLaunching", "didFinishLaunching", "open", "didEnterBackground",
            ]
        )
        #expect(try await router.status(of: Self.first).state == .known(.active))
        let states = try await router.states()
        if try await router.status(of: Self.second).state != .known(.suspended) {
            try await states.wait(for: "suspended", of: Self.second)
        }
        let again = steps(try await router.open("second:again", options))
        #expect(again.suffix(3) == ["open", "shouldSaveApplicationState", "willEncodeRestorableState"])
        #expect(try router.log(of: Self.first).last == "didBecomeActive")
    }

    // MARK: Waking

    @Test func activationWakesASuspendedHandler() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        let pid = try #require(try await router.status(of: Self.first).pid)
        try await router.waitUntilStopped(pid)
        try await router.lifecycle(LifecycleInterface.activate, Self.first)
        #expect(try !router.isStopped(pid))
        #expect(try router.log(of: Self.first).suffix(2) == ["willEnterForeground", "didBecomeActive"])
        #expect(try await router.status(of: Self.first).state == .known(.active))
    }

    @Test func callOfTheNameWakesASuspendedHandler() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        let pid = try #require(try await router.status(of: Self.first).pid)
        // The name has no owner, so the bus activates the name through the router.
        let object = RemoteObject(BusName(Self.first)!, ObjectPath(for: BusName(Self.first)!))
        #expect(try await router.connection.get(HandlerInterface.state, on: object) == "background")
        #expect(try await router.status(of: Self.first).pid == pid)
        #expect(try router.log(of: Self.first).filter { $0.hasPrefix("start") }.count == 1)
    }

    @Test func callOfTheUniqueNameWakesASuspendedHandler() async throws {
        let router = try await router()
        defer { router.stop() }
        let name = try #require(BusName(Self.first))
        _ = try await router.open("first:x")
        let owner = try #require(try await router.connection.owner(of: name))
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        let pid = try #require(try await router.status(of: Self.first).pid)
        try await router.waitUntilStopped(pid)
        let states = try await router.states()
        let object = RemoteObject(owner, ObjectPath(for: name))
        #expect(try await router.connection.get(HandlerInterface.state, on: object) == "background")
        #expect(try await states.next(of: Self.first) == "background")
        // The handler takes its name back, and is idle.
        #expect(try await states.next(of: Self.first) == "suspended")
        #expect(try await router.open("first:y").reply["pid"] == .int32(CInt(pid)))
    }

    @Test func missedNotificationsArriveBeforeTheURL() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        for (kind, value) in [("locale", "de"), ("battery", "low"), ("locale", "fr")] {
            let body = Arguments(Self.first, kind, Value.string(value))
            _ = try await router.connection.call(LifecycleInterface.notify, on: RouterService.object, body)
        }
        _ = try await router.open("first:y")
        #expect(
            try router.log(of: Self.first).suffix(5) == [
                "willEnterForeground", "notification battery low", "notification locale fr", "open first:y",
                "didBecomeActive",
            ]
        )
    }

    // MARK: Reasons against a suspension

    @Test func backgroundTaskPreventsTheSuspensionUntilItsEnd() async throws {
        let router = try await router([Self.first: ["task=upload"], Self.second: []])
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.background, Self.first)
        let status = try await router.status(of: Self.first)
        #expect(status.state == .known(.background))
        #expect(status.backgroundTasks == ["upload"])
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        }
        #expect("\(error)".contains("upload"), "\(error)")
    }

    @Test func endedTaskDoesNotPreventTheSuspension() async throws {
        let router = try await router([Self.first: ["task=upload", "endTask"], Self.second: []])
        defer { router.stop() }
        let states = try await router.states()
        _ = try await router.open("first:x")
        _ = try await router.open("second:x")
        try await states.wait(for: "suspended", of: Self.first)
        #expect(try router.log(of: Self.first).last == "task began")
    }

    /// The process of a handler is the one that owns the name, also if a script has started it and waits for its end.
    @Test func handlerOfAScriptIsSuspendedToo() async throws {
        let router = try await RouterProcess { directory in
            let script = directory.appending(path: "run")
            try Data("#!/bin/sh\n\"$HANDLER\" \"$@\"; :\n".utf8).write(to: script)
            #expect(chmod(script.path, 0o700) == 0)
            let environment = ["HANDLER": RouterProcess.products.appending(path: "testhandler").path]
            let extra: [String: Any] = ["CFBundleExecutable": script.path, "OUEnvironment": environment]
            try RouterProcess.write(Self.first, [], in: directory, extra: extra)
        }
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        #expect(try await router.status(of: Self.first).state == .known(.suspended))
        #expect(try await router.open("first:y").way == .woken)
        #expect(try router.log(of: Self.first).contains("open first:y"))
    }

    @Test func backgroundModesPreventTheSuspension() async throws {
        let router = try await router([Self.first: []], ["UIBackgroundModes": ["audio"]])
        defer { router.stop() }
        _ = try await router.open("first:x")
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        }
        #expect("\(error)".contains("UIBackgroundModes"), "\(error)")
        #expect(try await router.status(of: Self.first).state == .known(.background))
    }

    @Test func handlerThatIsDoneWithItsModeIsSuspendedUntilTheNextStay() async throws {
        let router = try await router([Self.first: []], ["UIBackgroundModes": ["audio"]])
        defer { router.stop() }
        _ = try await router.open("first:x")
        let states = try await router.states()
        try await router.lifecycle(LifecycleInterface.background, Self.first)
        let input = Arguments(Self.first, "finishMode", Value.string(""))
        _ = try await router.connection.call(LifecycleInterface.notify, on: RouterService.object, input)
        try await states.wait(for: "suspended", of: Self.first)
        _ = try await router.open("first:y")
        await #expect(throws: CallError.self) { try await router.lifecycle(LifecycleInterface.suspend, Self.first) }
        #expect(try await router.status(of: Self.first).state == .known(.background))
    }

    @Test(arguments: ["location", "adio"])
    func modeThatKeepsNothingRunningDoesNotPreventTheSuspension(mode: String) async throws {
        let router = try await router([Self.first: []], ["UIBackgroundModes": [mode]])
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        #expect(try await router.status(of: Self.first).state == .known(.suspended))
    }

    // MARK: Ends

    @Test func manifestMakesTheHandlerExitInsteadOfGoingToTheBackground() async throws {
        let router = try await router([Self.first: [], Self.second: []], ["UIApplicationExitsOnSuspend": true])
        defer { router.stop() }
        let states = try await router.states()
        _ = try await router.open("first:x")
        _ = try await router.open("second:x")
        try await states.wait(for: "notRunning", of: Self.first)
        #expect(try router.log(of: Self.first).suffix(2) == ["didBecomeActive", "willTerminate"])
        #expect(try await router.open("first:y").way == .launched)
    }

    @Test func manifestMakesTheHandlerExitInsteadOfBeingSuspended() async throws {
        let extra: [String: Any] = ["UIApplicationExitsOnSuspend": true, "OUSuspendDelay": 0.1]
        let router = try await router([Self.first: []], extra)
        defer { router.stop() }
        let states = try await router.states()
        var options = OpenOptions()
        options.inBackground = true
        _ = try await router.open("first:x", options)
        try await states.wait(for: "notRunning", of: Self.first)
        #expect(try router.log(of: Self.first).suffix(2) == ["didEnterBackground", "willTerminate"])
    }

    @Test func suspendedHandlerEndsWithoutNotice() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        try await router.lifecycle(LifecycleInterface.terminate, Self.first)
        #expect(try router.log(of: Self.first).last == "didEnterBackground")
        _ = try await router.open("second:x")
        try await router.lifecycle(LifecycleInterface.terminate, Self.second)
        #expect(try router.log(of: Self.second).last == "willTerminate")
        #expect(try await router.status(of: Self.second).state == .known(.notRunning))
    }

    /// The second handler is suspended later than the first and is much larger.
    @Test func memoryPressureWarnsRunningHandlersAndEndsOneSuspendedHandlerAtATime() async throws {
        let third = "com.example.third"
        let router = try await router([Self.first: [], Self.second: ["memory=200"], third: []])
        defer { router.stop() }
        let states = try await router.states()
        for (id, url) in [(Self.first, "first:x"), (Self.second, "second:x")] {
            _ = try await router.open(url)
            try await router.lifecycle(LifecycleInterface.suspend, id)
        }
        _ = try await router.open("third:x")
        try await router.relieveMemory()
        try await states.wait(for: "notRunning", of: Self.second)
        #expect(try router.log(of: Self.second).last == "didEnterBackground")
        #expect(try await router.status(of: Self.first).state == .known(.suspended))
        let reason = "the router ended it to free memory"
        try await eventually(await router.status(of: Self.second).endReason) { $0 == reason }
        // A call soon after the last relief does nothing.
        func stateAfterRelief() async throws -> HandlerStatus {
            try await router.relieveMemory()
            return try await router.status(of: Self.first)
        }
        try await eventually(await stateAfterRelief()) { $0.state != .known(.suspended) }
        try await states.wait(for: "notRunning", of: Self.first)
        #expect(try router.log(of: Self.first).last == "didEnterBackground")
        _ = try await router.open("third:y")
        #expect(try router.log(of: third).contains("didReceiveMemoryWarning"))
    }

    @Test func handlerThatHangsOnTheWayToTheBackgroundIsKilled() async throws {
        let router = try await router([Self.first: ["hang=didEnterBackground"], Self.second: []])
        defer { router.stop() }
        _ = try await router.open("first:x")
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.background, Self.first)
        }
        #expect("\(error)".contains("didEnterBackground of com.example.first did not return"), "\(error)")
        #expect(try await router.open("first:y").way == .launched)
    }

    @Test func repeatedCrashesPauseTheLaunches() async throws {
        let router = try await routerOfSickHandler()
        defer { router.stop() }
        try await failRepeatedly(router)
        let error = try await router.failure("first:x")
        #expect(error.code == .launchFailed)
        #expect(
            error.message.contains("crashed too often, 3 times within 10 seconds; it will not be started until"),
            "\(error.message)"
        )
        #expect(
            error.message.contains("'openurl activate --reset com.example.first' starts it now"),
            "\(error.message)"
        )
        let end = try #require(try await router.status(of: Self.first).quarantinedUntil)
        #expect(abs(Date().timeIntervalSince1970 + 15 - Double(end)) <= 16)
        try await router.lifecycle(LifecycleInterface.reset, Self.first)
        #expect(try await router.status(of: Self.first).quarantinedUntil == nil)
        try await router.lifecycle(LifecycleInterface.activate, Self.first)
    }

    @Test func registeringTheHandlerAgainEndsTheQuarantine() async throws {
        let router = try await routerOfSickHandler()
        defer { router.stop() }
        try await failRepeatedly(router)
        #expect(try await router.status(of: Self.first).quarantinedUntil != nil)
        let manifest = router.bus.directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(Self.first).plist").path
        _ = try await router.connection.call(RegistryInterface.register, on: RouterService.object, manifest)
        #expect(try await router.open("first:x").way == .launched)
    }

    @Test func endOfTheRouterWakesSuspendedHandlers() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        _ = try await router.connection.watchName(BusName(Self.first)!) { _, new in continuation.yield(new) }
        kill(router.pid, SIGKILL)
        for await owner in owners where owner != nil { break }
        #expect(try router.log(of: Self.first).last == "didEnterBackground")
    }

    @Test func nextRouterSuspendsHandlersAgainAndCanDieToo() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        let pid = try #require(try await router.status(of: Self.first).pid)
        for _ in 0..<2 {
            try await router.restart()
            let states = try await router.states()
            if try await router.status(of: Self.first).state != .known(.suspended) {
                try await states.wait(for: "suspended", of: Self.first)
            }
            try await router.waitUntilStopped(pid)
        }
        let result = try await router.open("first:y")
        #expect(result.way == .woken)
        #expect(result.reply["pid"] == .int32(CInt(pid)))
    }

    @Test func nextRouterFindsRunningHandlers() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("first:x")
        let pid = try #require(try await router.status(of: Self.first).pid)
        try await router.restart()
        #expect(try await router.status(of: Self.first).state == .known(.active))
        let result = try await router.open("first:y")
        #expect(result.way == .active)
        #expect(try await router.status(of: Self.first).pid == pid)
    }
}

extension RouterProcess {
    /// Returns whether the kernel has stopped a process.
    func isStopped(_ pid: UInt32) throws -> Bool {
        let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return try #require(stat.split(separator: ")").last).split(separator: " ").first == "T"
    }

    /// Returns when the kernel has stopped a process. A signal takes effect when the process runs next, and no event tells.
    func waitUntilStopped(_ pid: UInt32) async throws {
        try await eventually(isStopped(pid)) { $0 }
    }

    func lifecycle(_ method: Method<String, Empty>, _ id: String) async throws(CallError) {
        _ = try await connection.call(method, on: RouterService.object, id, timeout: .seconds(60))
    }

    func relieveMemory() async throws(CallError) {
        _ = try await connection.call(LifecycleInterface.relieveMemory, on: RouterService.object, Empty())
    }

    func status(of id: String) async throws -> HandlerStatus {
        let all = try await connection.call(LifecycleInterface.list, on: RouterService.object, Empty())
        return try #require(all.first { $0.id == id })
    }

    /// Returns the state changes of all handlers from now on.
    func states() async throws -> SignalSequence<Arguments<String, String>> {
        try await subscribed(LifecycleInterface.stateChanged)
    }
}

extension SignalSequence<Arguments<String, String>> {
    /// Returns the next state of a handler or of a queued URL.
    func next(of id: String) async throws -> String { try await next { $0.body.values.0 == id }.body.values.1 }

    /// Returns when a handler or a queued URL has reached a state.
    func wait(for state: String, of id: String) async throws {
        try await next { $0.body.values == (id, state) }
    }
}
