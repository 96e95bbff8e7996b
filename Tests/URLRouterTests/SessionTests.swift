import Glibc
import OpenURLBus
import Processes
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The sessions of handlers: the order of events and effects, and the life of a session.
@Suite(.timeLimit(.minutes(10))) struct SessionTests {
    private static let id: BusName = "com.example.app"
    private static let owner: BusName = ":1.1"

    @Test func lookingMakesNoSession() async throws {
        let bus = try FakeHandlers([:])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        #expect(await router.status().map(\.state) == [.known(.notRunning)])
        #expect(try await router.canOpen("app:x", caller: ownConnection))
        #expect(try await router.explain("app:x", OpenOptions(), caller: ownConnection).handler == "com.example.app")
        await #expect(throws: OpenURLError.self) { try await router.background(BundleIdentifier("com.example.app")) }
        try await router.terminate(BundleIdentifier("com.example.app"))
        #expect(await router.hasNoSession)
    }

    @Test func statusAsksTheBusOnceForAllHandlersThatDoNotRun() async throws {
        let bus = try FakeHandlers([:])
        let router = URLRouter([try .test("com.example.app"), try .test("com.example.other")], on: bus)
        _ = await router.status()
        #expect(bus.count(of: .askedForOwner(Self.id)) == 0)
    }

    @Test func unusedSessionOfAnUnregisteredHandlerIsRemovedWithTheNextRegistry() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner])
        let handler = try Handler.test("com.example.app")
        let router = URLRouter([handler], on: bus)
        let request = Task { try await router.open("app:x") }
        await bus.wait(for: .opened("app:x", at: Self.owner))
        let empty = Registry(handlers: [])
        _ = await router.use(RegistrySnapshot(number: 1, registry: empty))
        #expect(await !router.hasNoSession)
        bus.answer("app:x")
        #expect(try await request.value.way == .active)
        bus.setOwner(of: Self.id, to: nil)
        await router.wait { $0.state(of: Self.id) == .notRunning }
        _ = await router.use(RegistrySnapshot(number: 2, registry: empty))
        #expect(await router.hasNoSession)
        #expect(bus.watchedNames.isEmpty)
    }

    /// Returns the error of a launch without the name, of a process that takes other names.
    ///
    /// - Parameter slow: a name of which the bus never tells the process.
    private func launchFailure(_ others: [BusName], slow: BusName? = nil) async throws -> OpenURLError? {
        var limits = RouterLimits()
        limits.otherNamesTime = .seconds(slow == nil ? 600 : 5)
        let bus = try FakeHandlers(Dictionary(uniqueKeysWithValues: others.map { ($0, ":1.5") }))
        let log = RecordedLog()
        let handler = try Handler.test("com.example.app", program: .path("/bin/sleep")) {
            $0.arguments = ["600"]
            $0.launchTimeout = .seconds(5)
        }
        let router = URLRouter([handler], on: bus, limits: limits, log: log.logger)
        let request = Task { await failure { () throws(OpenURLError) in try await router.open("app:x") } }
        try await log.wait(for: "started")
        let pid = try #require(log.pid(of: "com.example.app"))
        for name in others { bus.setProcess(of: name, to: pid) }
        if let slow { bus.hold(slow) }
        let error = await request.value
        if let slow { bus.release(slow) }
        return error
    }

    @Test func failedLaunchNamesThreeOtherNamesAtMost() async throws {
        let error = try await launchFailure((1...5).map { BusName(stringLiteral: "com.example.other\($0)") })
        let names = "com.example.other1 and com.example.other2 and com.example.other3 and 2 others; "
        #expect(
            error?.message.contains("within 5 seconds of its start, but took \(names)") == true,
            "\(error?.message ?? "")"
        )
    }

    @Test func failedLaunchNamesTheOtherNamesThatTheBusHasTold() async throws {
        let error = try await launchFailure(["com.example.other1", "com.example.other2"], slow: "com.example.other2")
        #expect(error?.message.contains("but took com.example.other1; ") == true, "\(error?.message ?? "")")
    }

    @Test func sessionOfARegisteredHandlerStays() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner])
        let handler = try Handler.test("com.example.app")
        let router = URLRouter([handler], on: bus)
        await router.adoptRunning()
        bus.setOwner(of: Self.id, to: nil)
        await router.wait { $0.state(of: Self.id) == .notRunning }
        _ = await router.use(RegistrySnapshot(number: 1, registry: Registry(handlers: [handler])))
        #expect(await !router.hasNoSession)
    }

    @Test func failedLaunchIsNotAnnounced() async throws {
        let bus = try FakeHandlers([:])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let error = await failure { () throws(OpenURLError) in try await router.open("app:x") }
        #expect(error?.code == .launchFailed)
        #expect(bus.count(of: .announced(Self.id, .inactive)) == 0)
        #expect(bus.count(of: .announced(Self.id, .notRunning)) == 0)
    }

    @Test func releasedRouterReleasesItsBus() async throws {
        weak var released: FakeHandlers?
        do {
            let bus = try FakeHandlers([Self.id: Self.owner])
            released = bus
            let router = URLRouter([try .test("com.example.app")], on: bus)
            let request = Task { try await router.open("app:x") }
            await bus.wait(for: .opened("app:x", at: Self.owner))
            bus.answer("app:x")
            #expect(try await request.value.way == .active)
        }
        // The jobs of the request release the router on the loop's thread.
        try await eventually(released == nil) { $0 }
    }

    /// Returns the child of a process as soon as there is one.
    private func child(of pid: pid_t) async throws -> UInt32 {
        func children() -> [UInt32] {
            let list = ProcessFiles.bytes("task/\(pid)/children", pid: UInt32(pid)) ?? []
            return String(decoding: list, as: UTF8.self).split(separator: " ").compactMap { UInt32($0) }
        }
        return try await eventually(children()) { !$0.isEmpty }[0]
    }

    /// A handler that runs `openurl` has its own rights there, and its openings count as a chain.
    @Test func descendantOfAHandlerIsTheHandler() async throws {
        let bus = try FakeHandlers([:])
        let shell = try Handler.test("com.example.app", program: .path("/bin/sh")) {
            $0.arguments = ["-c", "sleep 600; :"]
        }
        var limits = RouterLimits()
        limits.launchTimeout = .seconds(300)
        let router = URLRouter([shell], on: bus, limits: limits)
        let request = Task { await failure { () throws(OpenURLError) in try await router.open("app:x") } }
        await router.wait { $0.pid(of: Self.id) != nil }
        let pid = try #require(await router.pid(of: Self.id))
        let child = try await child(of: pid)
        bus.setProcess(of: ":1.70", to: child)
        #expect(await router.callerClass(":1.70") == .handler)
        #expect(await router.callerClass(ownConnection) == .user)
        kill(pid, SIGKILL)
        kill(CInt(child), SIGKILL)
        #expect(await request.value != nil)
    }

    /// The kernel may give a handler the number of a process that has ended and whose connection another process holds.
    @Test(arguments: [(":1.20", false), (":1.21", true)])
    func connectionOlderThanTheProcessIsNotTheHandlers(connection: String, isHandlers: Bool) async throws {
        let bus = try FakeHandlers([:])
        bus.setNewestConnection(":1.20")
        let sleep = try Handler.test("com.example.app", program: .path("/bin/sleep")) { $0.arguments = ["600"] }
        // On a busy machine, the watchdog of the launch would end the process before this test has looked at it.
        var limits = RouterLimits()
        limits.launchTimeout = .seconds(300)
        limits.openTimeout = .seconds(300)
        let router = URLRouter([sleep], on: bus, limits: limits)
        let request = Task { await failure { () throws(OpenURLError) in try await router.open("app:x") } }
        await router.wait { $0.sessions[Self.id]?.process.handle != nil }
        let pid = try #require(await router.pid(of: Self.id))
        let name = BusName(trusted: connection)
        bus.setProcess(of: name, to: UInt32(pid))
        #expect(await router.callerClass(name) == (isHandlers ? .handler : .user))
        kill(pid, SIGKILL)
        #expect(await request.value != nil)
    }

    // MARK: The foreground

    /// Returns a router with two handlers, of which the first has opened a URL.
    private func routerWithTwoHandlers(
        owners: [BusName: BusName] = [id: owner, "com.example.other": ":1.2"],
        _ limits: RouterLimits = RouterLimits()
    ) async throws -> (URLRouter, FakeHandlers) {
        let bus = try FakeHandlers(owners, processes: [Self.owner: 1, ":1.2": 1])
        let router = URLRouter([try .test("com.example.app"), try .test("com.example.other")], on: bus, limits: limits)
        let request = Task { try await router.open("app:x") }
        await bus.wait(for: .opened("app:x", at: Self.owner))
        bus.answer("app:x")
        _ = try await request.value
        return (router, bus)
    }

    @Test func handlerThatWasStartedByHandTakesTheForeground() async throws {
        let (router, bus) = try await routerWithTwoHandlers()
        _ = await router.status()
        await bus.wait(for: .sentToBackground(Self.id))
        #expect(bus.count(of: .sentToBackground("com.example.other")) == 0)
        // Another look changes nothing.
        _ = await router.status()
        #expect(bus.count(of: .sentToBackground(Self.id)) == 0)
        #expect(bus.count(of: .sentToBackground("com.example.other")) == 0)
    }

    @Test func urlTakesAllOtherHandlersOutOfTheForeground() async throws {
        let (router, bus) = try await routerWithTwoHandlers()
        // The other handler was started by hand.
        _ = await router.status()
        await bus.wait(for: .sentToBackground(Self.id))
        let request = Task { try await router.open("app:y") }
        await bus.wait(for: .sentToBackground("com.example.other"))
        await bus.wait(for: .opened("app:y", at: Self.owner))
        bus.answer("app:y")
        #expect(try await request.value.way == .background)
        #expect(bus.count(of: .sentToBackground(Self.id)) == 0)
    }

    // MARK: The watchdog

    /// Opens a URL that gets no answer, and returns the error.
    private func hang(
        _ phase: String,
        after time: Duration,
        pid: UInt32,
        program: Handler.Program?
    ) async throws -> (URLRouter, FakeHandlers, Task<OpenURLError?, Never>) {
        let bus = try FakeHandlers([Self.id: Self.owner], processes: [Self.owner: pid])
        var limits = RouterLimits()
        limits.transitionTimeout = .milliseconds(20)
        let router = URLRouter([try .test("com.example.app", program: program)], on: bus, limits: limits)
        await router.adoptRunning()
        bus.setProgress(of: Self.id, to: phase, time)
        let request = Task { await failure { () throws(OpenURLError) in try await router.open("app:x") } }
        await bus.wait(for: .opened("app:x", at: Self.owner))
        await bus.wait(for: .askedForProgress(Self.id))
        return (router, bus, request)
    }

    @Test(arguments: ["willEnterForeground", "didBecomeActive", "willFinishLaunching", "didReceiveNotification"])
    func handlerThatHangsInATransitionEnds(phase: String) async throws {
        let process = try RunningProcess()
        defer { process.end() }
        let (_, bus, request) = try await hang(phase, after: .seconds(6), pid: process.pid, program: process.program)
        // The kernel tells the end of the process; the test plays the bus, which tells the end of the connection.
        await process.waitForEnd()
        bus.answer("app:x", .failure(.fromBus(.noReply)))
        bus.setOwner(of: Self.id, to: nil)
        let error = await request.value
        #expect(error?.code == .timedOut)
        #expect(error?.message.hasPrefix("\(phase) of com.example.app did not return within") == true)
        #expect(error?.message.hasSuffix("its process was killed") == true)
    }

    @Test func handlerThatWaitsInOpenIsNotEnded() async throws {
        let process = try RunningProcess()
        defer { process.end() }
        let (_, bus, request) = try await hang("open", after: .seconds(60), pid: process.pid, program: process.program)
        for _ in 0..<3 { await bus.wait(for: .checked(Self.id)) }
        #expect(process.isRunning)
        bus.answer("app:x", .failure(.timedOut))
        #expect(await request.value?.code == .timedOut)
    }

    @Test func handlerThatHangsInOpenEnds() async throws {
        let process = try RunningProcess()
        defer { process.end() }
        let (_, bus, request) = try await hang("open", after: .seconds(19), pid: process.pid, program: process.program)
        bus.hold(Self.id)
        bus.setProgress(of: Self.id, to: "open", .seconds(20))
        await process.waitForEnd()
        bus.answer("app:x", .failure(.fromBus(.noReply)))
        let message = "open of com.example.app did not return within 20 seconds, and its main actor is not responding"
        #expect(await request.value == OpenURLError(.timedOut, "\(message); its process was killed"))
        bus.release(Self.id)
    }

    /// The time of the second URL is over before the handler has another process.
    @Test func urlBehindOneThatHangsLearnsWhereItsTimeWent() async throws {
        let process = try RunningProcess()
        defer { process.end() }
        let (router, bus, hanging) = try await hang(
            "open",
            after: .seconds(19),
            pid: process.pid,
            program: process.program
        )
        var options = OpenOptions()
        options.timeout = .seconds(20)
        let behind = Task { [options] in
            await failure { () throws(OpenURLError) in
                try await router.open("app:behind", options, caller: ownConnection)
            }
        }
        await bus.wait(for: .opened("app:behind", at: Self.owner))
        bus.hold(Self.id)
        bus.setProgress(of: Self.id, to: "open", .seconds(20))
        await process.waitForEnd()
        bus.setOwner(of: Self.id, to: nil)
        for url in ["app:x", "app:behind"] { bus.answer(url, .failure(.fromBus(.noReply))) }
        #expect(await hanging.value?.message.hasSuffix("its process was killed") == true)
        let reason = "did not finish an earlier URL, and was not ready again in time; it did not get this one"
        let error = await behind.value
        #expect(error == OpenURLError(.timedOut, "com.example.app \(reason)"))
        bus.release(Self.id)
    }

    /// Starts a handler that is a script, gives the handler's name to the program of the script, and sends it a URL.
    private func runScript(
        _ bus: FakeHandlers,
        _ limits: RouterLimits = .patient,
        _ change: (inout HandlerManifest) -> Void = { _ in }
    ) async throws -> (router: URLRouter, request: Task<OpenResult, any Error>, script: pid_t, program: UInt32) {
        let script = try Handler.test("com.example.app", program: .path("/bin/sh")) {
            $0.arguments = ["-c", "sleep 600; :"]
            $0.launchTimeout = .seconds(300)
            change(&$0)
        }
        let router = URLRouter([script], on: bus, limits: limits, examine: nil)
        let request = Task { try await router.open("app:x") }
        await router.wait { $0.pid(of: Self.id) != nil }
        let pid = try #require(await router.pid(of: Self.id))
        let program = try await child(of: pid)
        bus.setProcess(of: Self.owner, to: program)
        bus.setOwner(of: Self.id, to: Self.owner)
        await bus.wait(for: .opened("app:x", at: Self.owner))
        return (router, request, pid, program)
    }

    @Test func programOfAScriptThatHangsEndsTogetherWithTheScript() async throws {
        let bus = try FakeHandlers([:])
        var limits = RouterLimits.patient
        limits.transitionTimeout = .milliseconds(20)
        let (_, request, script, program) = try await runScript(bus, limits)
        defer { for pid in [script, pid_t(program)] { kill(pid, SIGKILL) } }
        bus.setProgress(of: Self.id, to: "didBecomeActive", .seconds(6))
        for pid in [UInt32(script), program] { try await eventually(ProcessIdentity(pid: pid)) { $0 == nil } }
        bus.answer("app:x", .failure(.fromBus(.noReply)))
        bus.setOwner(of: Self.id, to: nil)
        let error = await #expect(throws: OpenURLError.self) { try await request.value }
        #expect(error?.code == .timedOut)
        #expect(error?.message.hasPrefix("didBecomeActive of com.example.app did not return within") == true)
        #expect(error?.message.hasSuffix("its process was killed") == true)
    }

    @Test(arguments: [false, true]) func programOfAScriptIsAskedToEnd(exitsOnSuspend: Bool) async throws {
        let bus = try FakeHandlers([:])
        let (router, request, script, program) = try await runScript(bus) { $0.exitsOnSuspend = exitsOnSuspend }
        defer { for pid in [script, pid_t(program)] { kill(pid, SIGKILL) } }
        bus.answer("app:x")
        #expect(try await request.value.way == .launched)
        let id = try BundleIdentifier("com.example.app")
        let end = Task { try await (exitsOnSuspend ? router.background(id) : router.terminate(id)) }
        // The signal ends the program, and the script ends after it.
        for pid in [program, UInt32(script)] { try await eventually(ProcessIdentity(pid: pid)) { $0 == nil } }
        bus.setOwner(of: Self.id, to: nil)
        try await end.value
        await router.wait { $0.state(of: Self.id) == .notRunning }
        #expect(bus.count(of: .sentToBackground(Self.id)) == 0)
    }

    /// A program that is slow to start would take the name after its launch has failed.
    @Test(arguments: [false, true]) func launchThatFailsEndsTheProgramOfAScript(isTerminated: Bool) async throws {
        let bus = try FakeHandlers([:])
        let script = try Handler.test("com.example.app", program: .path("/bin/sh")) {
            $0.arguments = ["-c", "sleep 600; :"]
            $0.launchTimeout = .seconds(isTerminated ? 300 : 20)
        }
        let router = URLRouter([script], on: bus)
        let request = Task { await failure { () throws(OpenURLError) in try await router.open("app:x") } }
        await router.wait { $0.pid(of: Self.id) != nil }
        let pid = try #require(await router.pid(of: Self.id))
        let program = try await child(of: pid)
        defer { kill(pid_t(program), SIGKILL) }
        if isTerminated { try await router.terminate(BundleIdentifier("com.example.app")) }
        #expect(await request.value?.code == (isTerminated ? .launchFailed : .timedOut))
        try await eventually(ProcessIdentity(pid: program)) { $0 == nil }
    }

    @Test func strangerThatHangsIsLeftAlone() async throws {
        let process = try RunningProcess()
        defer { process.end() }
        // The process does not run the handler's program.
        let (router, bus, request) = try await hang(
            "didBecomeActive",
            after: .seconds(6),
            pid: process.pid,
            program: .path("/nonexistent/handler")
        )
        bus.answer("app:x", .failure(.timedOut))
        #expect(await request.value?.code == .timedOut)
        #expect(process.isRunning)
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
    }

    @Test func stoppedProcessIsNotEnded() async throws {
        let process = try RunningProcess()
        defer { process.end() }
        process.stop()
        let (_, bus, request) = try await hang(
            "didBecomeActive",
            after: .seconds(6),
            pid: process.pid,
            program: process.program
        )
        bus.answer("app:x", .failure(.timedOut))
        let error = try #require(await request.value)
        #expect(error.message.hasPrefix("the process of com.example.app is stopped"), "\(error.message)")
        #expect(process.isRunning)
    }

    @Test(arguments: [
        (CallError.notSent(.descriptorNotPassed), "the bus passes no descriptors"),
        (
            CallError.fromBus("org.freedesktop.DBus.Error.AccessDenied", "denied by policy"),
            "the bus refuses the call: denied by policy"
        ),
        (
            CallError.unexpectedReply(.wrongType(expected: "b", found: "i")),
            "its answer to org.openurl.Handler1.Suspend is invalid: expected 'b', found 'i'"
        ),
    ])
    func handlerThatCannotBeAskedIsNotSuspended(refusal: CallError, reason: String) async throws {
        let bus = try FakeHandlers([:])
        var limits = RouterLimits()
        limits.suspendDelay = .milliseconds(1)
        limits.transitionTimeout = .milliseconds(50)
        let handler = try Handler.test("com.example.app", program: .path("/bin/sleep")) {
            $0.arguments = ["600"]
            $0.launchTimeout = .seconds(600)
        }
        let router = URLRouter([handler], on: bus, limits: limits)
        bus.failSuspensions(with: refusal)
        let request = Task { try await router.open("app:x") }
        await bus.wait(for: .announced(Self.id, .inactive))
        let pid = try #require(await router.status().first?.pid)
        defer { kill(pid_t(pid), SIGKILL) }
        bus.setProcess(of: Self.owner, to: pid)
        bus.setOwner(of: Self.id, to: Self.owner)
        await bus.wait(for: .opened("app:x", at: Self.owner))
        bus.answer("app:x")
        #expect(try await request.value.way == .launched)
        let id = try BundleIdentifier("com.example.app")
        await #expect(throws: OpenURLError(.notAllowed, "com.example.app is not suspended: \(reason)")) {
            try await router.suspend(id)
        }
        await bus.wait(for: .askedToSuspend(Self.id))
        // The next URL finds the same process, which was not ended.
        let next = Task { try await router.open("app:y") }
        await bus.wait(for: .opened("app:y", at: Self.owner))
        bus.answer("app:y")
        #expect(try await next.value.way == .background)
        #expect(kill(pid_t(pid), 0) == 0)
    }

    @Test func reasonIsLoggedWhenAHandlerWithoutItsNameIsKilled() async throws {
        let bus = try FakeHandlers([:])
        let log = RecordedLog()
        var limits = RouterLimits()
        limits.endTimeout = .milliseconds(50)
        let handler = try Handler.test("com.example.app", program: .path("/bin/sleep")) {
            $0.arguments = ["600"]
            $0.launchTimeout = .seconds(600)
        }
        let router = URLRouter([handler], on: bus, limits: limits, log: log.logger)
        let request = Task { try await router.open("app:x") }
        try await log.wait(for: "started")
        let pid = try #require(log.pid(of: "com.example.app"))
        defer { kill(pid_t(pid), SIGKILL) }
        bus.setProcess(of: Self.owner, to: pid)
        bus.setOwner(of: Self.id, to: Self.owner)
        await bus.wait(for: .opened("app:x", at: Self.owner))
        bus.answer("app:x")
        #expect(try await request.value.way == .launched)
        bus.setOwner(of: Self.id, to: nil)
        try await eventually(ProcessIdentity(pid: pid)) { $0 == nil }
        let reason =
            "it gave up its name on the bus, or said that it was exiting, but was still running 0.05 seconds later"
        #expect(log.lines.contains("warning com.example.app: \(reason)"), "\(log.lines)")
    }

    // MARK: The background

    @Test(arguments: [false, true]) func errorOnTheWayToTheBackgroundReachesTheCaller(suspends: Bool) async throws {
        let bus = try FakeHandlers([:])
        let handler = try Handler.test("com.example.app", program: .path("/bin/sleep")) {
            $0.arguments = ["600"]
            $0.launchTimeout = .seconds(600)
        }
        let router = URLRouter([handler], on: bus)
        let request = Task { try await router.open("app:x") }
        await bus.wait(for: .announced(Self.id, .inactive))
        let pid = try #require(await router.status().first?.pid)
        defer { kill(pid_t(pid), SIGKILL) }
        bus.setProcess(of: Self.owner, to: pid)
        bus.setOwner(of: Self.id, to: Self.owner)
        await bus.wait(for: .opened("app:x", at: Self.owner))
        bus.answer("app:x")
        #expect(try await request.value.way == .launched)
        let id = try BundleIdentifier("com.example.app")
        bus.failBackground(with: .named("com.example.Error.Full", "no space"))
        let failed = "com.example.app is in the background, but EnterBackground failed"
        await #expect(throws: OpenURLError(.declined, "\(failed): com.example.app declined the change: no space")) {
            if suspends { try await router.suspend(id) } else { try await router.background(id) }
        }
        let state: HandlerStateMachine.State =
            suspends ? .suspended(owner: Self.owner) : .running(owner: Self.owner, .background)
        #expect(await router.state(of: Self.id) == state)
        // It is there already.
        if suspends { try await router.suspend(id) } else { try await router.background(id) }
        #expect(bus.count(of: .sentToBackground(Self.id)) == 1)
    }

    @Test func applicationHasNoProcess() async throws {
        let desktop = try DesktopFixture()
        try desktop.addEntry("org.example.App", "DBusActivatable=true")
        let mail = try Handler.test("org.example.mail", program: nil)
        let router = URLRouter([mail], desktop.applications, on: try FakeHandlers([:]))
        for name in ["org.example.mail", "org.example.App.desktop"] {
            let id = try BundleIdentifier(name)
            let reason = "has no process of its own: an application of the desktop opens its URLs"
            let error = OpenURLError(.noHandler, "\(name) \(reason)")
            await #expect(throws: error) { try await router.activate(id, caller: ownConnection) }
            await #expect(throws: error) { try await router.background(id) }
            await #expect(throws: error) { try await router.terminate(id) }
        }
    }

    // MARK: A woken handler

    /// Starts a handler that is reached over the lane, and suspends it. Its name has its owner still.
    private func suspendHandlerOnTheLane(
        _ bus: FakeHandlers,
        transitionTimeout: Duration
    ) async throws -> (router: URLRouter, pid: pid_t) {
        var limits = RouterLimits()
        limits.transitionTimeout = transitionTimeout
        let handler = try Handler.test("com.example.app", program: .path("/bin/sleep")) {
            $0.arguments = ["600"]
            $0.launchTimeout = .seconds(600)
        }
        let router = URLRouter([handler], on: bus, limits: limits)
        bus.attach(Self.owner)
        let request = Task { try await router.open("app:x") }
        await bus.wait(for: .announced(Self.id, .inactive))
        let pid = try #require(await router.status().first?.pid)
        bus.setProcess(of: Self.owner, to: pid)
        bus.setOwner(of: Self.id, to: Self.owner)
        await bus.wait(for: .opened("app:x", at: Self.owner))
        bus.answer("app:x")
        #expect(try await request.value.way == .launched)
        try await router.suspend(try BundleIdentifier("com.example.app"))
        return (router, pid_t(pid))
    }

    @Test func wokenHandlerOnTheLaneGetsItsURLBeforeItsName() async throws {
        let bus = try FakeHandlers([:])
        let (router, pid) = try await suspendHandlerOnTheLane(bus, transitionTimeout: .seconds(600))
        defer { kill(pid, SIGKILL) }
        let woken = Task { try await router.open("app:y") }
        await bus.wait(for: .opened("app:y", at: Self.owner))
        // The bus tells the release before the suspension only now.
        bus.setOwner(of: Self.id, to: nil)
        let next = Task { try await router.open("app:z") }
        await bus.wait(for: .opened("app:z", at: Self.owner))
        bus.setOwner(of: Self.id, to: Self.owner)
        bus.answer("app:y")
        bus.answer("app:z")
        #expect(try await woken.value.way == .woken)
        #expect(try await next.value.way == .active)
        #expect(await router.status().first?.state == .known(.active))
        #expect(await router.status().first?.pid == UInt32(pid))
    }

    @Test func wokenHandlerOnTheLaneThatDoesNotTakeItsNameIsKilled() async throws {
        let bus = try FakeHandlers([:])
        let (router, pid) = try await suspendHandlerOnTheLane(bus, transitionTimeout: .milliseconds(200))
        defer { kill(pid, SIGKILL) }
        bus.setOwner(of: Self.id, to: nil)
        let woken = Task { await failure { () throws(OpenURLError) in try await router.open("app:y") } }
        await bus.wait(for: .opened("app:y", at: Self.owner))
        await bus.wait(for: .announced(Self.id, .notRunning))
        bus.answer("app:y", .failure(.fromBus("org.freedesktop.DBus.Error.NoReply", "the connection has ended")))
        let message =
            "com.example.app did not take its name on the bus within 0.2 seconds of being woken; its process was killed"
        #expect(await woken.value == OpenURLError(.timedOut, message))
    }

    // MARK: A busy handler

    private static let openTookTooLong = OpenURLError(
        .timedOut,
        "open of com.example.app did not return within 20 seconds; it may have acted on the URL"
    )

    @Test func busyHandlerGetsNoOtherURL() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let slow = Task { await failure { () throws(OpenURLError) in try await router.open("app:slow") } }
        await bus.wait(for: .opened("app:slow", at: Self.owner))
        let behind = Task { await failure { () throws(OpenURLError) in try await router.open("app:behind") } }
        await bus.wait(for: .opened("app:behind", at: Self.owner))
        bus.hold(Self.id)
        bus.answer("app:slow", .failure(.timedOut))
        #expect(await slow.value == Self.openTookTooLong)
        await bus.wait(for: .notified(Self.id, [:]))

        var options = OpenOptions()
        options.timeout = .milliseconds(50)
        let late = await failure { () throws(OpenURLError) in
            try await router.open("app:late", options, caller: ownConnection)
        }
        let reason = "com.example.app is still busy with an earlier URL"
        #expect(late == OpenURLError(.timedOut, "\(reason); it did not get this one"))
        bus.answer("app:behind", .failure(.timedOut))
        #expect(await behind.value == OpenURLError(.timedOut, "\(reason); it may open this one later"))

        let next = Task { try await router.open("app:next") }
        await router.wait { $0.waiting(for: Self.id) == 1 }
        bus.release(Self.id)
        await bus.wait(for: .opened("app:next", at: Self.owner))
        bus.answer("app:next")
        #expect(try await next.value.way == .active)
        #expect(bus.opened.isEmpty)
    }

    @Test func handlerIsNotBusyWithAnEarlierURLForTheOneThatHangs() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let hanging = Task { await failure { () throws(OpenURLError) in try await router.open("app:hanging") } }
        await bus.wait(for: .opened("app:hanging", at: Self.owner))
        let second = Task { await failure { () throws(OpenURLError) in try await router.open("app:second") } }
        await bus.wait(for: .opened("app:second", at: Self.owner))
        let third = Task { await failure { () throws(OpenURLError) in try await router.open("app:third") } }
        await bus.wait(for: .opened("app:third", at: Self.owner))
        bus.hold(Self.id)
        let isBehind = OpenURLError(
            .timedOut,
            "com.example.app is still busy with an earlier URL; it may open this one later"
        )
        bus.answer("app:third", .failure(.timedOut))
        #expect(await third.value == isBehind)
        bus.answer("app:hanging", .failure(.timedOut))
        #expect(await hanging.value == Self.openTookTooLong)
        bus.answer("app:second", .failure(.timedOut))
        #expect(await second.value == isBehind)
        bus.release(Self.id)
    }

    // MARK: Ends

    /// A bus that ends at that moment says nothing about the process.
    @Test func ownerWhoseProcessTheBusDoesNotReportIsNoStranger() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner], processes: [Self.owner: 1])
        bus.setLookup(Self.owner, failsWith: .disconnected)
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let error = await failure { () throws(OpenURLError) in try await router.open("app:1") }
        #expect(error?.code == .launchFailed)
        #expect(error?.message.contains("belongs to") == false, "\(error?.message ?? "")")
    }

    /// The number of the process is that of none, as if it had exited before the router watched it.
    @Test func processThatEndsBeforeItIsWatchedHasEnded() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner], processes: [Self.owner: .max])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        await router.adoptRunning()
        let status = try #require(await router.status().first)
        #expect(status.ended != nil && status.exitStatus == nil && status.signal == nil)
    }

    @Test func strangerThatRefusesURLsAndKeepsTheNameIsAFailure() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner], processes: [Self.owner: 1])
        var limits = RouterLimits()
        limits.endTimeout = .milliseconds(50)
        let router = URLRouter([try .test("com.example.app")], on: bus, limits: limits)
        await router.adoptRunning()
        for url in ["app:1", "app:2"] {
            let request = Task { await failure { () throws(OpenURLError) in try await router.open(url) } }
            await bus.wait(for: .opened(url, at: Self.owner))
            bus.answer(url, .failure(.named(HandlerInterface.ending)))
            let error = try #require(await request.value)
            #expect(error.code == .launchFailed)
            #expect(error.message.contains("keeps the name com.example.app but takes no URLs"))
            #expect(await router.state(of: Self.id) == .notRunning)
        }
    }

    /// A router that does not know yet that the handler is in the foreground would stop the handler after the URL.
    @Test func urlInTheBackgroundWaitsForTheStateOfAnAdoptedHandler() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner], processes: [Self.owner: 1])
        bus.hold(FakeHandlers.state)
        let router = URLRouter([try .test("com.example.app")], on: bus)
        await router.adoptRunning()
        var options = OpenOptions()
        options.inBackground = true
        let request = Task { [options] in try await router.open("app:x", options, caller: ":1.99") }
        await router.wait { $0.requestsWaitForState(Self.id) }
        #expect(bus.count(of: .opened("app:x", at: Self.owner)) == 0)
        bus.release(FakeHandlers.state)
        await bus.wait(for: .opened("app:x", at: Self.owner))
        bus.answer("app:x")
        #expect(try await request.value.way == .active)
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
    }

    @Test func memoryWarningsDoNotPileUp() async throws {
        let process = try RunningProcess()
        defer { process.end() }
        let bus = try FakeHandlers([Self.id: Self.owner], processes: [Self.owner: process.pid])
        let router = URLRouter([try .test("com.example.app", program: process.program)], on: bus)
        await router.adoptRunning()
        bus.hold(Self.id)
        for _ in 0..<10 { await router.relieveMemory() }
        #expect(bus.count(of: .warnedOfMemory(Self.id)) == 1)
        bus.release(Self.id)
    }

    /// The kill of a process that the router did not start is an event at once. The watchdog of the end must not start after
    /// that event has ended the state.
    @Test func effectsOfAnEventAreDoneBeforeTheNextEvent() async throws {
        let bus = try FakeHandlers([Self.id: Self.owner])
        var limits = RouterLimits()
        limits.endTimeout = .milliseconds(200)
        // Any process that lasts will do: the first one.
        bus.setProcess(of: Self.owner, to: 1)
        let router = URLRouter([try .test("com.example.app")], on: bus, limits: limits)
        await router.adoptRunning()
        // The process releases its name and does not end: the watchdog lets go of it.
        bus.setOwner(of: Self.id, to: nil)
        await router.wait { $0.state(of: Self.id) == .notRunning }
        #expect(await router.isEndWatched(Self.id) == false)
    }
}

extension URLRouter {
    fileprivate var hasNoSession: Bool { sessions.isEmpty }

    fileprivate func requestsWaitForState(_ id: BusName) -> Bool {
        sessions[id]?.processes.stateGate.holdsTasks == true
    }

    fileprivate func isEndWatched(_ id: BusName) -> Bool? { sessions[id]?.timers.end.isRunning }
}
