import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// The watchdogs and the background time, with real processes: no sick process stays, and no healthy one is killed.
@Suite(.timeLimit(.minutes(10))) struct WatchdogTests {
    private static let first = "com.example.first"
    private static let second = "com.example.second"
    private static let timer = "com.example.timer"
    private static let name: BusName = "com.example.first"

    /// The time limit of a transition is short only if a test asks for it. Otherwise, a busy machine would make healthy
    /// handlers look sick.
    private func router(
        _ arguments: [String] = [],
        _ extra: [String: Any] = [:],
        wrapper: [String] = []
    ) async throws -> RouterProcess {
        try await RouterProcess(wrapper: wrapper) { directory in
            let keys: [String: Any] = ["OUTransitionTimeout": 60, "OUSuspendDelay": 0.05].merging(extra) { $1 }
            try RouterProcess.write(Self.first, arguments, in: directory, extra: keys)
            try RouterProcess.write(Self.second, [], in: directory, extra: keys)
            let time = keys["OUBackgroundTime"] ?? 180
            try RouterProcess.write(Self.timer, ["task=time"], in: directory, extra: ["OUBackgroundTime": time])
        }
    }

    private var inBackground: OpenOptions {
        var options = OpenOptions()
        options.inBackground = true
        return options
    }

    /// A time limit that also allows for a launch on a busy machine.
    private var patient: OpenOptions {
        var options = OpenOptions()
        options.timeout = .seconds(60)
        return options
    }

    private func wait(for state: String, of id: String = first, in router: RouterProcess) async throws {
        let states = try await router.states()
        if try await router.status(of: id).state == .known(HandlerState(rawValue: state)!) { return }
        try await states.wait(for: state, of: id)
    }

    /// Returns when the background time that the manifests give has passed: a handler with an open task has ended.
    private func waitForBackgroundTime(_ router: RouterProcess) async throws {
        _ = try await router.open("timer:x")
        try await router.lifecycle(LifecycleInterface.background, Self.timer)
        try await wait(for: "notRunning", of: Self.timer, in: router)
    }

    // MARK: Hangs

    @Test func handlerThatHangsInDidBecomeActiveIsKilled() async throws {
        let router = try await router(["hang=didBecomeActive"], ["OUTransitionTimeout": 1])
        defer { router.stop() }
        let error = try await router.failure("first:x")
        #expect(error.code == .timedOut)
        let reason = "didBecomeActive of com.example.first did not return within 1 second after open had returned"
        #expect(error.message == "\(reason); its process was killed")
        #expect(try await router.status(of: Self.first).state == .known(.notRunning))
    }

    @Test(arguments: ["willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive"])
    func senderWhoseTimeIsOverLearnsTheMethodThatHangs(phase: String) async throws {
        let router = try await router(["hang=\(phase)"], ["OULaunchTimeout": 60])
        defer { router.stop() }
        var options = OpenOptions()
        options.timeout = .seconds(6)
        let error = try await router.failure("first:x", options)
        let consequence = phase.contains("Launching") ? "" : "; it may have acted on the URL"
        let message = "\(phase) of com.example.first did not return within 6 seconds\(consequence)"
        #expect(error == OpenURLError(.timedOut, message))
    }

    @Test func urlsBehindTheOneThatHangsGoToTheNextProcess() async throws {
        let router = try await router(["faults"], ["OUTransitionTimeout": 5])
        defer { router.stop() }
        let fault = router.bus.directory.appending(path: "\(Self.first).log.fault")
        try Data("didBecomeActive".utf8).write(to: fault)
        let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 1...4 {
                group.addTask { [patient] in
                    do throws(CallError) {
                        return try await router.open("first:\(number)", patient).handler
                    } catch {
                        guard case .remote(let error) = error, let error = OpenURLError(error) else { throw error }
                        return error.code.rawValue
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.sorted() == ["TimedOut"] + Array(repeating: Self.first, count: 3))
        let opened = try router.log(of: Self.first).filter { $0.hasPrefix("open") }
        #expect(opened.sorted() == (1...4).map { "open first:\($0)" })
    }

    /// The launch into the background tells the delegate of the background after `open`, within the same event.
    @Test func urlThatWasOpenedBeforeTheHangIsNotOpenedAgain() async throws {
        let router = try await router(["hang=didEnterBackground"], ["OUTransitionTimeout": 1])
        defer { router.stop() }
        #expect(try await router.failure("first:x", inBackground).code == .timedOut)
        #expect(try router.log(of: Self.first).filter { $0.hasPrefix("open") } == ["open first:x"])
    }

    @Test func handlerThatHangsInWillEnterForegroundIsKilled() async throws {
        let router = try await router(["hang=willEnterForeground"], ["OUTransitionTimeout": 5])
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.suspend, Self.first)
        let error = try await router.failure("first:y")
        #expect(error.code == .timedOut)
        #expect(error.message.hasPrefix("willEnterForeground of com.example.first did not return within 5 seconds"))
        #expect(try !router.log(of: Self.first).contains("open first:y"))
        #expect(try await router.open("first:z").way == .launched)
    }

    @Test func handlerThatHangsInOpenIsKilledAfterItsTimeLimit() async throws {
        let router = try await router(["hang-url=first:bad"], ["OUOpenTimeout": 5, "OUTransitionTimeout": 5])
        defer { router.stop() }
        #expect(try await router.open("first:x", patient).way == .launched)
        let error = try await router.failure("first:bad")
        let message = "open of com.example.first did not return within 5 seconds; it may have acted on the URL"
        #expect(error == OpenURLError(.timedOut, message))
        // The next URL waits for the end of the process, and a new process opens it.
        #expect(try await router.open("first:y", patient).way == .launched)
        let log = try router.log(of: Self.first)
        #expect(log.filter { $0.hasPrefix("open") } == ["open first:x", "open first:bad", "open first:y"])
    }

    @Test func handlerThatIsSlowInOpenIsNotKilled() async throws {
        let router = try await router(["stall-url=first:slow"], ["OUOpenTimeout": 5, "OUTransitionTimeout": 5])
        defer { router.stop() }
        _ = try await router.open("first:x", patient)
        #expect(try await !router.status(of: Self.first).isOverdue)
        let error = try await router.failure("first:slow")
        let message = "open of com.example.first did not return within 5 seconds; it may have acted on the URL"
        #expect(error == OpenURLError(.timedOut, message))
        let status = try await router.status(of: Self.first)
        #expect(status.isOverdue)
        let pid = try #require(status.pid)
        try await withThrowingTaskGroup(of: OpenURLError.self) { group in
            for number in 1...5 { group.addTask { try await router.failure("first:\(number)") } }
            let reason = "com.example.first is still busy with an earlier URL; it did not get this one"
            for try await error in group { #expect(error == OpenURLError(.timedOut, reason)) }
        }
        #expect(try await router.status(of: Self.first).pid == pid)
        let background = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.background, Self.first)
        }
        #expect("\(background)".contains("is still busy"), "\(background)")
    }

    @Test func handlerThatWasStartedByHandAndHangsIsReplaced() async throws {
        let router = try await router([], ["OUTransitionTimeout": 5])
        defer { router.stop() }
        let pid = try await router.startByHand(Self.first, ["hang=didEnterBackground"])
        #expect(try await router.status(of: Self.first).pid == UInt32(pid))
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.background, Self.first)
        }
        #expect("\(error)".contains("didEnterBackground of com.example.first did not return"), "\(error)")
        let result = try await router.open("first:x")
        #expect(result.way == .launched)
        #expect(result.reply["pid"] != .int32(pid))
    }

    @Test func handlerThatWasStartedByHandAndDoesNotEndIsKilled() async throws {
        let router = try await router([], ["OUTransitionTimeout": 5])
        defer { router.stop() }
        _ = try await router.startByHand(Self.first, ["hang=willTerminate"])
        try await router.lifecycle(LifecycleInterface.terminate, Self.first)
        #expect(try await router.status(of: Self.first).state == .known(.notRunning))
    }

    @Test(arguments: ["didEnterBackground", "willResignActive"])
    func hangOnTheWayToTheBackgroundEndsAnAdoptedHandler(phase: String) async throws {
        let router = try await router(["hang=\(phase)"], ["OUTransitionTimeout": 5])
        defer { router.stop() }
        let first = try await router.open("first:x")
        try await router.restart()
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.background, Self.first)
        }
        #expect("\(error)".contains("\(phase) of com.example.first did not return"), "\(error)")
        let next = try await router.open("first:y")
        #expect(next.way == .launched)
        #expect(next.reply["pid"] != first.reply["pid"])
    }

    // MARK: Background time

    @Test func openTaskEndsTheProcessWhenTheTimeIsOver() async throws {
        let router = try await router(["task=upload"], ["OUBackgroundTime": 1.5])
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.background, Self.first)
        try await wait(for: "notRunning", in: router)
        #expect(try router.log(of: Self.first).suffix(2) == ["task began", "expired upload"])
        let reason = "a background task of \(Self.first) was still open when its time ran out; its process was killed"
        try await eventually(await router.status(of: Self.first).endReason) { $0 == reason }
        let status = try await router.openurl("status", Self.first).output
        #expect(status.contains("by signal 9 (Killed)\n            \(reason)\n"), "\(status)")
    }

    @Test func chainedTasksHaveNoMoreTime() async throws {
        let router = try await router(["task=upload", "chain"], ["OUBackgroundTime": 1.5])
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.background, Self.first)
        try await wait(for: "notRunning", in: router)
    }

    @Test func nextRouterLearnsTheOpenTasks() async throws {
        let router = try await router(["task=upload"], ["OUBackgroundTime": 15])
        defer { router.stop() }
        _ = try await router.open("first:x")
        try await router.lifecycle(LifecycleInterface.background, Self.first)
        try await router.restart()
        try await eventually(await router.status(of: Self.first).backgroundTasks) { $0 == ["upload"] }
        try await wait(for: "notRunning", in: router)
        #expect(try router.log(of: Self.first).last == "expired upload")
    }

    @Test func eachStayInTheBackgroundHasItsOwnTime() async throws {
        let router = try await router(["task-url"], ["OUBackgroundTime": 10])
        defer { router.stop() }
        _ = try await router.open("first:early")
        try await router.lifecycle(LifecycleInterface.background, Self.first)
        try await wait(for: "suspended", in: router)
        try await waitForBackgroundTime(router)
        // A URL that arrives in the background wakes the handler, which begins a task for it.
        let late = try await router.open("first:late", inBackground)
        #expect(late.way == .woken)
        let left = try #require(late.reply["time-left"]?.double)
        #expect(left > 0 && left <= 10, "\(left)")
        #expect(try router.log(of: Self.first).contains("open first:late"))
    }

    @Test(arguments: [true, false])
    func handlerThatIsNeverSuspendedHasNoTimeLimit(isStartedByHand: Bool) async throws {
        let modes: [String: Any] = isStartedByHand ? [:] : ["UIBackgroundModes": ["audio"]]
        let router = try await router(["task=upload"], ["OUBackgroundTime": 0.2].merging(modes) { $1 })
        defer { router.stop() }
        if isStartedByHand { _ = try await router.startByHand(Self.first, ["task=upload"]) }
        let pid = try await router.open("first:x").reply["pid"]
        try await router.lifecycle(LifecycleInterface.background, Self.first)
        #expect(try await router.status(of: Self.first).backgroundTasks == ["upload"])
        try await waitForBackgroundTime(router)
        let result = try await router.open("first:y", inBackground)
        #expect(result.reply["pid"] == pid)
        #expect(result.reply["time-left"] == nil)
        #expect(try !router.log(of: Self.first).contains("expired upload"))
    }

    // MARK: Launches into the background

    @Test func activationInTheBackgroundLaunchesIntoTheBackground() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("second:x")
        try await router.lifecycle(LifecycleInterface.wake, Self.first)
        #expect(
            try router.log(of: Self.first).dropFirst() == [
                "willFinishLaunching", "didFinishLaunching", "didEnterBackground",
            ]
        )
        try await wait(for: "suspended", in: router)
        #expect(try await router.status(of: Self.second).state == .known(.active))
    }

    @Test func callOfAStoppedHandlersNameLaunchesIntoTheBackground() async throws {
        let router = try await router()
        defer { router.stop() }
        try await router.waitUntilPublished(Self.first)
        let object = RemoteObject(Self.name, ObjectPath(for: Self.name))
        _ = try await router.connection.get(HandlerInterface.state, on: object)
        try await wait(for: "suspended", in: router)
        #expect(
            try router.log(of: Self.first).dropFirst() == [
                "willFinishLaunching", "didFinishLaunching", "didEnterBackground",
            ]
        )
    }

    @Test func activationThroughTheDesktopLaunchesIntoTheForeground() async throws {
        let router = try await router()
        defer { router.stop() }
        try await router.waitUntilPublished(Self.first)
        let object = RemoteObject(Self.name, ObjectPath(for: Self.name))
        _ = try await router.connection.call(FreedesktopApplication.activate, on: object, [:])
        try await wait(for: "active", in: router)
        let launched = ["willFinishLaunching", "didFinishLaunching", "didBecomeActive"]
        // The router takes the handler for active before the delegate has heard of it.
        try await eventually(router.log(of: Self.first).dropFirst()) { $0.elementsEqual(launched) }
    }

    @Test func launchIntoTheBackgroundThatHangsIsKilled() async throws {
        let router = try await router(["hang=willFinishLaunching"], ["OULaunchTimeout": 2, "OUTransitionTimeout": 1])
        defer { router.stop() }
        let error = try await #require(throws: CallError.self) {
            try await router.lifecycle(LifecycleInterface.wake, Self.first)
        }
        #expect("\(error)".contains("willFinishLaunching of com.example.first did not return"), "\(error)")
    }

    // MARK: The foreground

    /// Nothing asks the router for the handler that was started by hand.
    @Test func handlerThatIsStartedByHandTakesTheForeground() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("second:x")
        let states = try await router.states()
        _ = try await router.startByHand(Self.first)
        try await states.wait(for: "background", of: Self.second)
        #expect(try router.log(of: Self.first).last == "didBecomeActive")
        #expect(try router.log(of: Self.second).last == "didEnterBackground")
        #expect(try await router.status(of: Self.first).state == .known(.active))
        // A URL takes the handler that was started by hand to the background.
        _ = try await router.open("second:y")
        try await wait(for: "background", in: router)
    }

    @Test func lookingChangesNothing() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("second:x")
        let states = try await router.states()
        _ = try await router.startByHand(Self.first)
        try await states.wait(for: "background", of: Self.second)
        for _ in 0..<3 { #expect(try await router.status(of: Self.first).state == .known(.active)) }
        #expect(try router.log(of: Self.first).last == "didBecomeActive")
    }
}

extension Value {
    fileprivate var double: Double? { if case .double(let number) = self { number } else { nil } }
}
