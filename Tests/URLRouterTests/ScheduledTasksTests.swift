import Foundation
import OpenURLBus
import Reactor
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The runs of tasks by a router, on a bus that the test plays.
@Suite(.timeLimit(.minutes(10))) struct ScheduledTasksTests {
    private static let id = "com.example.app0"
    private static let hour: UInt64 = 3_600_000

    /// A router with handlers in the background, and the file with its tasks.
    private final class Session: Sendable {
        let bus: FakeHandlers
        let router: URLRouter
        let store: TaskStore
        let log = RecordedLog()
        private let directory = TemporaryState()

        init(
            _ count: Int = 1,
            stored: [ScheduledTask] = [],
            quarantine: Duration = .seconds(600),
            holding: Bool = false,
            processes: [BusName: UInt32] = [:]
        ) async throws {
            let ids = (0..<count).map { BusName("com.example.app\($0)")! }
            let owners = ids.enumerated().map { ($1, BusName(":1.\($0 + 1)")!) }
            bus = try FakeHandlers(Dictionary(uniqueKeysWithValues: owners), processes: processes)
            for id in ids { bus.setState(of: id, to: .background) }
            if holding { bus.hold(FakeHandlers.wake) }
            store = Self.store(in: directory, log)
            if !stored.isEmpty { try await store.save(stored) }
            let command = try Handler.test("com.example.command") {
                $0.command = try HandlerCommand(["/bin/true", "%u"])
            }
            // On a busy machine, the fake handler may be late.
            var limits = RouterLimits.patient
            limits.wakeTime = .seconds(600)
            limits.quarantine = quarantine
            router = URLRouter(
                try ids.map { id in
                    try Handler.test(id.rawValue) { if id.rawValue.hasSuffix("1") { $0.backgroundModes = [.fetch] } }
                } + [command],
                on: bus,
                limits: limits,
                tasks: store,
                examine: { _, _, _ in .descends },
                log: log.logger
            )
            await router.adoptRunning()
            await router.startDeliveries()
        }

        private static func store(in directory: TemporaryState, _ log: RecordedLog) -> TaskStore {
            TaskStore(path: "\(directory.path)/tasks", on: directory.loop, log: log.logger)
        }

        /// Makes every attempt to store tasks fail, even for the superuser.
        func breakStore() async throws {
            try await router.schedule(ScheduledTasksTests.id, "first") { $0.delay = ScheduledTasksTests.hour }
            try await router.cancel(ScheduledTasksTests.id, "first")
            let file = "\(directory.path)/tasks"
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        }

        /// Returns the next router's store.
        func nextStore() -> TaskStore { Self.store(in: directory, log) }

        /// The tasks, by their names.
        var tasks: [String: ScheduledTask] {
            get async throws {
                let list = try await router.tasks()
                return Dictionary(list.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
            }
        }

        /// Returns when no handler has a task, and every outcome is stored.
        func settle() async throws {
            await router.wait { $0.scheduledTasks.running.isEmpty }
            _ = try await store.load()
        }

        func wait(forRunOf name: String, of id: String = ScheduledTasksTests.id) async {
            await bus.wait(for: ScheduledTasksTests.run(name, id))
        }
    }

    private static func run(_ name: String, _ id: String = id) -> FakeHandlers.Event {
        var context = WakeContext(.known(.task))
        context.task = name
        return .woken(BusName(id)!, context)
    }

    // MARK: Scheduling

    @Test func taskRunsOnce() async throws {
        let session = try await Session()
        try await session.router.schedule(Self.id, "sync")
        await session.wait(forRunOf: "sync")
        try await eventually(await session.tasks) { $0.isEmpty }
        #expect(try await session.store.load() == [])
        try await session.settle()
    }

    @Test func alarmRunsATaskAtItsTime() async throws {
        let session = try await Session()
        try await session.router.schedule(Self.id, "sync") { $0.delay = 50 }
        await session.wait(forRunOf: "sync")
        try await session.settle()
    }

    @Test func taskOfAnEarlierRouterIsRun() async throws {
        var hourly = ScheduledTask(handler: Self.id, name: "hourly", next: 1)
        hourly.interval = Self.hour
        let session = try await Session(stored: [ScheduledTask(handler: Self.id, name: "once", next: 1), hourly])
        await session.wait(forRunOf: "hourly")
        await session.wait(forRunOf: "once")
        let tasks = try await eventually(await session.tasks) { $0.count == 1 && $0["hourly"]!.next > 1 }
        #expect(tasks["hourly"]?.state == .known(.scheduled))
        try await session.settle()
    }

    @Test func repeatedTaskThatIsScheduledAgainStaysAsItIs() async throws {
        let session = try await Session()
        func schedule(_ interval: UInt64, _ requirements: [TaskRequirement] = []) async throws -> ScheduledTask? {
            try await session.router.schedule(Self.id, "sync") {
                $0.delay = 5 * Self.hour
                $0.interval = interval
                $0.requirements = requirements
            }
            return try await session.tasks["sync"]
        }
        let first = try await schedule(Self.hour)
        #expect(try await session.store.load() == first.map { [$0] })
        #expect(try await schedule(Self.hour) == first)
        #expect(try await schedule(2 * Self.hour)?.interval == 2 * Self.hour)
        #expect(try await schedule(2 * Self.hour, [.idle])?.requirements == [.idle])
    }

    @Test func taskThatRunsOnceIsReplaced() async throws {
        let session = try await Session()
        for hours: UInt64 in [3, 1] {
            try await session.router.schedule(Self.id, "sync") { $0.delay = hours * Self.hour }
        }
        let next = try #require(try await session.tasks["sync"]?.next)
        #expect(next < UInt64(WallClock.milliseconds) + 2 * Self.hour)
    }

    @Test func handlerHasAtMostSixteenTasks() async throws {
        let session = try await Session()
        for number in 0..<TasksInterface.tasksPerHandler {
            try await session.router.schedule(Self.id, "\(number)") { $0.delay = Self.hour }
        }
        let error = await #expect(throws: OpenURLError.self) {
            try await session.router.schedule(Self.id, "more") { $0.delay = Self.hour }
        }
        #expect(error?.code == .limitsExceeded)
        try await session.router.schedule(Self.id, "0") { $0.delay = 2 * Self.hour }
        try await session.router.cancel(Self.id, "0")
        try await session.router.schedule(Self.id, "more") { $0.delay = Self.hour }
    }

    @Test func allHandlersHaveAtMostAThousandTasks() async throws {
        let later = UInt64(WallClock.milliseconds) + Self.hour
        let stored = (0..<TasksInterface.tasks).map { number in
            ScheduledTask(handler: "com.example.other\(number)", name: "sync", next: later)
        }
        let session = try await Session(stored: stored)
        let error = await #expect(throws: OpenURLError.self) {
            try await session.router.schedule(Self.id, "sync") { $0.delay = Self.hour }
        }
        #expect(error?.code == .limitsExceeded)
    }

    @Test func handlerMustBeAbleToRunTasks() async throws {
        let session = try await Session()
        let refusals: [(String, String, OpenURLError.Code)] = [
            ("com.example.unknown", "sync", .noHandler), ("com.example.command", "sync", .notAllowed),
            (Self.id, TasksInterface.fetch, .notAllowed),
        ]
        for (id, name, code) in refusals {
            let error = await #expect(throws: OpenURLError.self) { try await session.router.schedule(id, name) }
            #expect(error?.code == code, "\(id)")
        }
    }

    @Test(
        arguments: [
            (nil, 59_999), (nil, 367 * 86_400_000), (367 * 86_400_000, nil), (UInt64.max, UInt64.max),
        ] as [(UInt64?, UInt64?)]
    )
    func timesMustBePossible(delay: UInt64?, interval: UInt64?) async throws {
        let session = try await Session()
        let error = await #expect(throws: RemoteError.self) {
            try await session.router.schedule(Self.id, "sync") {
                $0.delay = delay
                $0.interval = interval
            }
        }
        #expect(error?.name == .invalidArguments)
    }

    @Test func withoutADirectoryThereAreNoTasks() async throws {
        let bus = try FakeHandlers([:])
        let router = URLRouter([try .test(Self.id)], on: bus)
        let error = await #expect(throws: RemoteError.self) { try await router.schedule(Self.id, "sync") }
        #expect(error?.message.contains("no directory for tasks") == true)
        #expect(try await router.tasks().isEmpty)
    }

    /// A second call must not rely on what the first could not store.
    @Test func equalCallsFailTogether() async throws {
        let session = try await Session()
        try await session.breakStore()
        let results = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    do {
                        try await session.router.schedule(Self.id, "hourly") { $0.interval = Self.hour }
                        return true
                    } catch {
                        return false
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == [false, false, false])
        #expect(try await session.tasks.isEmpty)
    }

    @Test func handlerInASandboxGetsErrorsWithoutPaths() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let error = OpenURLError(.launchFailed, "/home/user/app cannot be started")
        var task = ScheduledTask(handler: Self.id, name: "sync", next: UInt64(WallClock.milliseconds) + Self.hour)
        task.error = error.dbusError
        let session = try await Session(stored: [task], processes: [":1.1": sandboxed.pid])
        #expect(await session.router.callerClass(":1.1") == .sandboxed)
        #expect(try await session.router.tasks(for: ":1.1").map(\.error) == [error.forConfinedCallers.dbusError])
        #expect(try await session.router.tasks().map(\.error) == [error.dbusError])
    }

    @Test func cancelledTasksAreNotRun() async throws {
        let session = try await Session(2)
        for name in ["first", "second", "third"] {
            try await session.router.schedule(Self.id, name) { $0.delay = Self.hour }
        }
        try await session.router.schedule("com.example.app1", "other") { $0.delay = Self.hour }
        try await session.router.cancel(Self.id, "second")
        #expect(try await session.tasks.keys.sorted() == ["first", "other", "third"])
        try await session.router.cancel(Self.id, "unknown")
        try await session.router.cancel(Self.id, "")
        #expect(try await session.tasks.keys.sorted() == ["other"])
        #expect(try await session.store.load()?.map(\.name) == ["other"])
    }

    // MARK: Runs

    @Test func fourHandlersHaveATaskAtTheSameTime() async throws {
        let session = try await Session(6)
        session.bus.hold(FakeHandlers.wake)
        for number in 0..<6 { try await session.router.schedule("com.example.app\(number)", "task\(number)") }
        for number in 0..<4 { await session.wait(forRunOf: "task\(number)", of: "com.example.app\(number)") }
        let states = try await session.tasks.sorted { $0.key < $1.key }.map(\.value.state.rawValue)
        #expect(states == ["running", "running", "running", "running", "waiting", "waiting"])
        session.bus.release(FakeHandlers.wake)
        for number in 4..<6 { await session.wait(forRunOf: "task\(number)", of: "com.example.app\(number)") }
        try await eventually(await session.tasks) { $0.isEmpty }
        try await session.settle()
    }

    @Test func handlerHasOneTaskAtATime() async throws {
        let stored = ["first", "second"].enumerated().map {
            ScheduledTask(handler: Self.id, name: $1, next: UInt64($0) + 1)
        }
        let session = try await Session(stored: stored, holding: true)
        await session.wait(forRunOf: "first")
        let states = try await session.tasks.mapValues(\.state)
        #expect(states == ["first": .known(.running), "second": .known(.waiting)])
        session.bus.release(FakeHandlers.wake)
        await session.wait(forRunOf: "second")
        try await session.settle()
    }

    @Test func taskThatIsReplacedDuringItsRunIsRunAgainAfterAMinute() async throws {
        let session = try await Session()
        session.bus.hold(FakeHandlers.wake)
        try await session.router.schedule(Self.id, "sync")
        await session.wait(forRunOf: "sync")
        for name in ["sync", "other"] { try await session.router.schedule(Self.id, name) }
        let replaced = try await session.tasks
        session.bus.release(FakeHandlers.wake)
        try await eventually(await session.tasks) { $0["sync"]?.state != .known(.running) }
        let tasks = try await session.tasks
        for name in ["sync", "other"] {
            let next = try #require(tasks[name]?.next)
            #expect(next == replaced[name]?.next)
            #expect(next > UInt64(WallClock.milliseconds) + 50_000)
        }
        try await session.settle()
    }

    /// The task stays due until the outcome is noted, which may have to wait for another change.
    @Test func taskIsNotRunAgainBeforeItsOutcomeIsNoted() async throws {
        let session = try await Session()
        session.bus.hold(FakeHandlers.wake)
        try await session.router.schedule(Self.id, "sync")
        await session.wait(forRunOf: "sync")
        let (changes, change) = AsyncStream<Void>.makeStream()
        let other = Task { await session.router.changeTasks { for await _ in changes {} } }
        await session.router.wait { $0.scheduledTasks.isChanging }
        session.bus.release(FakeHandlers.wake)
        await session.router.wait { $0.scheduledTasks.turns.count == 1 }
        await session.router.updateTasks()
        #expect(session.bus.count(of: Self.run("sync")) == 0)
        change.finish()
        await other.value
        try await eventually(await session.tasks) { $0.isEmpty }
        #expect(session.bus.count(of: Self.run("sync")) == 0)
        try await session.settle()
    }

    @Test func taskThatIsCancelledDuringItsRunDoesNotComeBack() async throws {
        let session = try await Session()
        session.bus.hold(FakeHandlers.wake)
        session.bus.answerTasks(with: .known(.failed))
        try await session.router.schedule(Self.id, "sync")
        await session.wait(forRunOf: "sync")
        try await session.router.cancel(Self.id, "sync")
        session.bus.release(FakeHandlers.wake)
        await session.router.wait { $0.scheduledTasks.running.isEmpty }
        try await session.router.schedule(Self.id, "next")
        await session.wait(forRunOf: "next")
        #expect(try await session.tasks["sync"] == nil)
        try await session.settle()
    }

    @Test(arguments: [.absent, .known(.newData)] as [Reported<TaskResult>])
    func answerWithoutAResultOrWithNewDataMeansThatTheTaskIsDone(answer: Reported<TaskResult>) async throws {
        let session = try await Session()
        session.bus.answerTasks(with: answer)
        try await session.router.schedule(Self.id, "sync") { $0.delay = Self.hour }
        let result = try await session.router.run(Self.id, "sync")
        #expect(result == (answer == .absent ? .known(.newData) : answer))
        #expect(try await session.tasks.isEmpty)
    }

    @Test(arguments: ["later", "Failed"]) func unknownWordIsNoAnswer(word: String) async throws {
        let session = try await Session()
        session.bus.answerTasks(with: .unknown(word))
        try await session.router.schedule(Self.id, "sync") { $0.delay = Self.hour }
        let error = await #expect(throws: OpenURLError.self) { try await session.router.run(Self.id, "sync") }
        let words = "it must be one of new-data, no-data, failed"
        #expect(error == OpenURLError(.invalidReply, "\(Self.id) answered with the result '\(word)'; \(words)"))
        let task = try await session.tasks["sync"]
        #expect(task?.failures == 1 && task?.error?.message == error?.message)
    }

    @Test func fetchWithoutNewDataBecomesRarer() async throws {
        let session = try await Session(2)
        session.bus.answerTasks(with: .known(.noData))
        try await session.router.schedule("com.example.app1", TasksInterface.fetch) { $0.interval = Self.hour }
        #expect(try await session.router.run("com.example.app1", TasksInterface.fetch) == .known(.noData))
        #expect(try await session.tasks[TasksInterface.fetch]?.stretchedInterval == Self.hour * 3 / 2)
    }

    @Test func taskIsGivenUpAfterEightFailures() async throws {
        let session = try await Session()
        session.bus.answerTasks(with: .known(.failed))
        try await session.router.schedule(Self.id, "sync") { $0.delay = Self.hour }
        for attempt in 1..<ScheduledTask.attempts {
            #expect(try await session.router.run(Self.id, "sync") == .known(.failed))
            #expect(try await session.tasks["sync"]?.failures == attempt)
        }
        #expect(try await session.tasks["sync"]?.error?.message == "the handler says that the task has failed")
        _ = try await session.router.run(Self.id, "sync")
        #expect(try await session.tasks.isEmpty)
        try await session.log.wait(for: "its task 'sync' is given up: the handler says that the task has failed")
    }

    @Test(
        arguments: [
            (.timedOut, .timedOut, "did not return within 600 seconds"),
            (.remote(RemoteError("com.example.Error", "no room")), .declined, "no room"),
            (.remote(RemoteError(.unknownMethod, "no Wake")), .declined, "does not perform tasks"),
        ] as [(CallError, OpenURLError.Code, String)]
    )
    func errorIsAFailure(error: CallError, code: OpenURLError.Code, text: String) async throws {
        let session = try await Session()
        session.bus.failWaking(with: error)
        try await session.router.schedule(Self.id, "sync") { $0.delay = Self.hour }
        let failure = try await #require(throws: OpenURLError.self) { try await session.router.run(Self.id, "sync") }
        #expect(failure.code == code)
        #expect(failure.message.contains(text), "\(failure)")
        let task = try await session.tasks["sync"]
        #expect(task?.failures == 1)
        #expect(task?.error?.message == failure.message)
    }

    @Test func repeatedTaskWithoutItsHandlerIsGivenUp() async throws {
        var task = ScheduledTask(handler: "com.example.gone", name: "sync", next: 1)
        task.interval = Self.hour
        task.failures = ScheduledTask.attempts - 1
        let session = try await Session(stored: [task])
        try await eventually(await session.tasks) { $0.isEmpty }
        try await session.settle()
    }

    @Test func unknownTaskAndOneThatRunsAreNotRunNow() async throws {
        let session = try await Session()
        let none = await #expect(throws: RemoteError.self) { try await session.router.run(Self.id, "sync") }
        #expect(none?.name == .invalidArguments)
        #expect(none?.message.contains("has no task 'sync'; it schedules its tasks when it is launched") == true)
        session.bus.hold(FakeHandlers.wake)
        try await session.router.schedule(Self.id, "sync")
        let unknown = await #expect(throws: RemoteError.self) { try await session.router.run(Self.id, "other") }
        #expect(unknown?.message.hasSuffix("'openurl tasks \(Self.id)' lists its tasks") == true)
        let stranger = await #expect(throws: OpenURLError.self) {
            try await session.router.run("com.example.none", "a")
        }
        #expect(stranger?.code == .noHandler)
        await session.wait(forRunOf: "sync")
        let busy = await #expect(throws: OpenURLError.self) { try await session.router.run(Self.id, "sync") }
        #expect(busy?.code == .notAllowed)
        session.bus.release(FakeHandlers.wake)
        try await session.settle()
    }

    @Test func handlerInQuarantineIsNotStartedBeforeItsEnd() async throws {
        let session = try await Session()
        try await session.router.quarantine(Self.id)
        try await session.router.schedule(Self.id, "sync")
        let task = try #require(try await session.tasks["sync"])
        #expect(task.state == .known(.waiting))
        #expect(task.failures == 0)
        #expect(session.bus.count(of: Self.run("sync")) == 0)
        await session.router.endQuarantine(Self.id)
        await session.wait(forRunOf: "sync")
        try await session.settle()
    }

    @Test func endOfTheQuarantineRunsTheTask() async throws {
        let session = try await Session(quarantine: .milliseconds(50))
        try await session.router.quarantine(Self.id)
        try await session.router.schedule(Self.id, "sync")
        await session.wait(forRunOf: "sync")
        try await session.settle()
    }

    @Test func routerThatEndsLeavesItsTasksToTheNextOne() async throws {
        let session = try await Session()
        session.bus.hold(FakeHandlers.wake)
        try await session.router.schedule(Self.id, "sync")
        await session.wait(forRunOf: "sync")
        await session.router.stopDeliveries()
        session.bus.release(FakeHandlers.wake)
        // The next router on this file has the task, although the handler answers the earlier router.
        let next = session.nextStore()
        #expect(try await next.load()?.map(\.name) == ["sync"])
        await session.router.wait { $0.scheduledTasks.running.isEmpty }
        #expect(try await next.load()?.map(\.name) == ["sync"])
        let error = await #expect(throws: RemoteError.self) { try await session.router.schedule(Self.id, "late") }
        #expect(error?.message == "the router is ending")
    }
}

extension URLRouter {
    fileprivate func changeTasks(_ change: () async -> Void) async { await scheduledTasks.inTurn(change) }

    fileprivate func updateTasks() { scheduledTasks.update() }

    fileprivate func schedule(
        _ id: String,
        _ name: String,
        _ change: @Sendable (inout TaskOptions) -> Void = { _ in }
    ) async throws {
        var options = TaskOptions()
        change(&options)
        try await scheduledTasks.schedule(BundleIdentifier(id), name, options)
    }

    fileprivate func cancel(_ id: String, _ name: String) async throws {
        try await scheduledTasks.cancel(BundleIdentifier(id), name)
    }

    fileprivate func run(_ id: String, _ name: String) async throws -> Reported<TaskResult> {
        try await scheduledTasks.runNow(BundleIdentifier(id), name)
    }

    fileprivate func tasks(for caller: BusName = ownConnection) async throws -> [ScheduledTask] {
        try await scheduledTasks.list(for: caller)
    }

    /// Makes the router believe that a handler has crashed too often.
    fileprivate func quarantine(_ id: String) throws {
        let session = sessions.obtain(for: try #require(registry.handler(named: id)))
        while session.quarantine.timeLeft == nil { session.quarantine.count(.exited(status: 1), isReady: true) }
    }

    /// Forgets the crashes of a handler, as `openurl activate --reset` does.
    fileprivate func endQuarantine(_ id: String) {
        BusName(id).flatMap { sessions[$0] }?.quarantine.forgetCrashes()
        scheduledTasks.update()
    }
}
