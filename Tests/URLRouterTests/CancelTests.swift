import DBus
import Glibc
import OpenURLBus
import SchemeRegistry
import Testing

@testable import URLRouter

/// A cancel at each stage of a request.
@Suite(.timeLimit(.minutes(5))) struct CancelTests {
    private static let id: BusName = "com.example.app"
    private static let owner: BusName = ":1.1"
    private static let path: ObjectPath = "/org/openurl/Router1/request/1_77/t"

    private let bus: FakeHandlers
    private let router: URLRouter

    init() throws {
        bus = try FakeHandlers([Self.id: Self.owner], processes: [Self.owner: 1])
        router = try Self.router(on: bus, cancelTime: .seconds(300))
    }

    private static func router(on bus: FakeHandlers, cancelTime: Duration) throws -> URLRouter {
        var limits = RouterLimits()
        limits.cancelTime = cancelTime
        return URLRouter([try .test("com.example.app")], on: bus, limits: limits)
    }

    /// A request with a handle, like a call on the bus.
    private func request(
        _ url: String,
        to router: URLRouter? = nil,
        _ change: (inout OpenOptions) -> Void = { _ in }
    ) -> Task<OpenResult, any Error> {
        let router = router ?? self.router
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "t")
        change(&options)
        let calls = CancelledCalls()
        let task = Task { [options, router] in
            try await router.openURL(url, options, caller: ownConnection, abandon: { calls.cancel() })
        }
        calls.set(task)
        return task
    }

    private func cancel() async throws {
        try await router.cancelRequest(at: Self.path, caller: ownConnection)
    }

    private func error(of task: Task<OpenResult, any Error>) async throws -> OpenURLError {
        do {
            let result = try await task.value
            Issue.record("opened by \(result.handler)")
            return .withdrawn
        } catch {
            return try #require(error as? OpenURLError)
        }
    }

    @Test func requestWhoseCallerIsLookedUpIsWithdrawn() async throws {
        bus.hold(ownConnection)
        let task = request("app:1")
        await bus.wait(for: .askedWhoIs(ownConnection))
        try await cancel()
        bus.release(ownConnection)
        #expect(try await error(of: task) == .withdrawn)
        #expect(bus.opened.isEmpty)
        #expect(await router.hasAnsweredAll)
    }

    @Test func requestThatWaitsForTheOwnerIsWithdrawn() async throws {
        bus.hold(Self.id)
        let task = request("app:1")
        await bus.wait(for: .askedForOwner(Self.id))
        await router.wait { $0.waiting(for: Self.id) == 1 }
        try await cancel()
        #expect(try await error(of: task) == .withdrawn)
        bus.release(Self.id)
        // The next request goes its way, and nothing comes before it.
        let next = request("app:2")
        await bus.wait(for: .opened("app:2", at: Self.owner))
        bus.answer("app:2")
        _ = try await next.value
        #expect(bus.opened.isEmpty)
    }

    @Test func handlerIsAskedAndItsAnswerCounts() async throws {
        let task = request("app:1") { $0.requestID = RequestID(rawValue: "login-7") }
        await bus.wait(for: .opened("app:1", at: Self.owner))
        #expect(bus.context(of: "app:1")?.requestID == "login-7")
        try await cancel()
        await bus.wait(for: .cancelled("login-7", at: Self.owner))
        // A second cancel asks nobody.
        try await cancel()
        bus.answer("app:1")
        #expect(try await task.value.handler == "com.example.app")
        #expect(bus.count(of: .cancelled("login-7", at: Self.owner)) == 0)
        await #expect(throws: RemoteError.self) { try await cancel() }
    }

    @Test func handlerMayAnswerThatItIsCancelled() async throws {
        let task = request("app:1")
        await bus.wait(for: .opened("app:1", at: Self.owner))
        try await cancel()
        bus.answer("app:1", .failure(.named(OpenURLError.Code.cancelled.errorName, "stopped")))
        #expect(try await error(of: task) == OpenURLError(.cancelled, "stopped"))
    }

    @Test func silentHandlerIsNotWaitedForAndGetsNothingMoreMeanwhile() async throws {
        let router = try Self.router(on: bus, cancelTime: .milliseconds(50))
        let task = request("app:1", to: router)
        await bus.wait(for: .opened("app:1", at: Self.owner))
        try await router.cancelRequest(at: Self.path, caller: ownConnection)
        let message = "the request was cancelled; com.example.app has the URL and may still open it"
        #expect(try await error(of: task) == OpenURLError(.cancelled, message))
        // The router asks when the handler is done with the events that it has.
        await bus.wait(for: .notified(Self.id, [:]))
    }

    /// A handler that goes on with a cancelled URL is busy, but not late.
    @Test(arguments: [true, false]) func onlyATimeLimitMakesTheHandlerOverdue(isCancelled: Bool) async throws {
        let router = try Self.router(on: bus, cancelTime: .milliseconds(50))
        let task = request("app:1", to: router)
        await bus.wait(for: .opened("app:1", at: Self.owner))
        bus.hold(Self.id)
        if isCancelled {
            try await router.cancelRequest(at: Self.path, caller: ownConnection)
        } else {
            bus.answer("app:1", .failure(.timedOut))
        }
        #expect(try await error(of: task).code == (isCancelled ? .cancelled : .timedOut))
        await bus.wait(for: .notified(Self.id, [:]))
        #expect(await router.status().map(\.isOverdue) == [!isCancelled])
        bus.release(Self.id)
        await router.wait { $0.sessions[Self.id]?.process.isBusy == false }
        #expect(await router.status().map(\.isOverdue) == [false])
    }

    /// A handler in the background drops a URL that is cancelled while it waits behind something else, so the URL does
    /// not bring it to the foreground. It may drop the URL long after the caller has its answer.
    @Test(arguments: [true, false]) func handlerThatDropsTheURLStaysInTheBackground(answersInTime: Bool) async throws {
        bus.setState(of: Self.id, to: .background)
        let router = try Self.router(on: bus, cancelTime: answersInTime ? .seconds(300) : .milliseconds(50))
        let task = request("app:1", to: router)
        await bus.wait(for: .opened("app:1", at: Self.owner))
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
        try await router.cancelRequest(at: Self.path, caller: ownConnection)
        if answersInTime { bus.answer("app:1", .failure(.named(OpenURLError.Code.cancelled.errorName, "stopped"))) }
        #expect(try await error(of: task).code == .cancelled)
        await bus.wait(for: .sentToBackground(Self.id))
        await router.wait { $0.state(of: Self.id) == .running(owner: Self.owner, .background) }
    }

    @Test func handlerThatIsComingToTheForegroundStaysThere() async throws {
        bus.setState(of: Self.id, to: .background)
        let first = request("app:1")
        await bus.wait(for: .opened("app:1", at: Self.owner))
        let second = Task { try await router.open("app:2") }
        await bus.wait(for: .opened("app:2", at: Self.owner))
        try await cancel()
        bus.answer("app:1", .failure(.named(OpenURLError.Code.cancelled.errorName, "stopped")))
        #expect(try await error(of: first).code == .cancelled)
        bus.setState(of: Self.id, to: .active)
        bus.answer("app:2")
        _ = try await second.value
        #expect(await router.state(of: Self.id) == .running(owner: Self.owner, .foreground))
        #expect(bus.count(of: .sentToBackground(Self.id)) == 0)
    }

    @Test func processWhoseOnlyRequestIsWithdrawnIsSuspended() async throws {
        let bus = try FakeHandlers([:])
        let handler = try Handler.test("com.example.app", program: .path("/bin/sleep")) {
            $0.arguments = ["600"]
            $0.launchTimeout = .seconds(600)
        }
        var limits = RouterLimits.patient
        limits.suspendDelay = .milliseconds(1)
        let router = URLRouter([handler], on: bus, limits: limits)
        let task = request("app:1", to: router)
        await bus.wait(for: .announced(Self.id, .inactive))
        let pid = try #require(await router.pid(of: Self.id))
        defer { kill(pid, SIGKILL) }
        try await router.cancelRequest(at: Self.path, caller: ownConnection)
        #expect(try await error(of: task) == .withdrawn)
        bus.setProcess(of: Self.owner, to: UInt32(pid))
        bus.setOwner(of: Self.id, to: Self.owner)
        await bus.wait(for: .sentToBackground(Self.id))
        await bus.wait(for: .askedToSuspend(Self.id))
    }

    @Test func handlerWithoutTheMethodIsNotWaitedFor() async throws {
        bus.failCancels(with: .named(.unknownMethod))
        let task = request("app:1")
        await bus.wait(for: .opened("app:1", at: Self.owner))
        try await cancel()
        #expect(try await error(of: task).code == .cancelled)
    }

    @Test func cancelledURLIsNotDeliveredAgain() async throws {
        let task = request("app:1")
        await bus.wait(for: .opened("app:1", at: Self.owner))
        try await cancel()
        // The process is ending and has not seen the URL. Any other URL would go to the next process.
        bus.answer("app:1", .failure(.named(HandlerInterface.ending)))
        #expect(try await error(of: task) == .withdrawn)
    }

    @Test func deadlineOfTheCallerAsksTheHandlerToStop() async throws {
        let task = request("app:1") {
            $0.timeout = .seconds(5)
            $0.requestID = RequestID(rawValue: "late")
        }
        await bus.wait(for: .opened("app:1", at: Self.owner))
        bus.answer("app:1", .failure(.timedOut))
        #expect(try await error(of: task).code == .timedOut)
        await bus.wait(for: .cancelled("late", at: Self.owner))
    }

    @Test func deadlineOfTheHandlerAsksNobodyToStop() async throws {
        let task = request("app:1") { $0.requestID = RequestID(rawValue: "late") }
        await bus.wait(for: .opened("app:1", at: Self.owner))
        bus.answer("app:1", .failure(.timedOut))
        #expect(try await error(of: task).code == .timedOut)
        await bus.wait(for: .notified(Self.id, [:]))
        #expect(bus.count(of: .cancelled("late", at: Self.owner)) == 0)
    }

    @Test func anotherProgramCancelsNothing() async throws {
        let task = request("app:1")
        await bus.wait(for: .opened("app:1", at: Self.owner))
        await #expect(throws: OpenURLError.self) {
            try await router.cancelRequest(at: Self.path, caller: ":1.78")
        }
        bus.answer("app:1")
        _ = try await task.value
    }

    @Test func tokenInUseIsAnError() async throws {
        let first = request("app:1")
        await bus.wait(for: .opened("app:1", at: Self.owner))
        do {
            _ = try await request("app:2").value
            Issue.record("the token was used twice")
        } catch let error as RemoteError {
            #expect(error.name == .invalidArguments)
        }
        bus.answer("app:1")
        _ = try await first.value
        let second = request("app:2")
        await bus.wait(for: .opened("app:2", at: Self.owner))
        bus.answer("app:2")
        _ = try await second.value
    }

    @Test func severalURLsEndWithTheCancel() async throws {
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "t")
        let task = Task { [options, router] in
            try await router.openURLs(["app:1", "app:2", "app:3"], options, caller: ownConnection, bytes: 1)
        }
        await bus.wait(for: .opened("app:1", at: Self.owner))
        bus.answer("app:1")
        await bus.wait(for: .opened("app:2", at: Self.owner))
        try await cancel()
        bus.answer("app:2", .failure(.named(OpenURLError.Code.cancelled.errorName)))
        let names = try await task.value.map { outcome in
            if case .failed(let error) = outcome { error.name.rawValue } else { "opened" }
        }
        #expect(names == ["opened", "org.openurl.Error.Cancelled", "org.openurl.Error.Cancelled"])
        #expect(bus.opened.isEmpty)
    }

    @Test func oneNameIsForOneURL() async throws {
        var options = OpenOptions()
        options.requestID = RequestID(rawValue: "one")
        let task = Task { [options, router] in
            try await router.openURLs(["app:1", "app:2"], options, caller: ownConnection, bytes: 1)
        }
        await #expect(throws: RemoteError.self) { try await task.value }
    }
}
