public import DBus
public import OpenURLBus
public import RFC1808
internal import Reactor
public import URLHandler

/// A driver that runs a delegate through its life cycle in a unit test, without a bus, a router or another process.
///
/// ```swift
/// @Test @MainActor func aDraftSurvives() async throws {
///     let first = HandlerDriver(delegate: EditorDelegate())
///     let opened = try await first.open("editor:?text=hello")
///     #expect(try opened.outcome.get() == ["length": .int32(5)])
///     await first.enterBackground()
///
///     let delegate = EditorDelegate()
///     await HandlerDriver(delegate: delegate, after: first).launch()
///     #expect(delegate.draft == "hello")
/// }
/// ```
///
/// Each method returns when the delegate has completed the whole sequence. The delegate handles events in the order of
/// the calls, so wait until a call has returned before you make the next one.
@MainActor public final class HandlerDriver {
    /// The application that the delegate's methods receive.
    public let application: Application
    private let store: MemoryStore
    private let notifications: ScheduledNotifications
    private let tasks: RecordedTasks

    /// Creates a handler that has not been launched.
    ///
    /// - Parameters:
    ///   - identifier: the handler's bundle identifier.
    ///   - delegate: the delegate under test, to which the driver keeps a strong reference.
    ///   - directories: the value of `Application.directories`.
    ///   - previous: the handler's previous process. This handler's launch restores the state that the previous process
    ///     saved. If the previous launch did not finish, the state that it was offered is still there. Notifications and
    ///     tasks that the previous process scheduled are kept too.
    public init(
        _ identifier: BusName = "com.example.test",
        delegate: any ApplicationDelegate,
        directories: HandlerDirectories = HandlerDirectories(),
        after previous: HandlerDriver? = nil
    ) {
        store = MemoryStore(previous?.store.saved)
        notifications = previous?.notifications ?? ScheduledNotifications()
        tasks = previous?.tasks ?? RecordedTasks()
        application = Application(
            identifier,
            delegate: delegate,
            directories: directories,
            notifications: notifications,
            tasks: tasks,
            store: store
        )
    }

    /// The notifications that the handler has scheduled and not cancelled, in the order of their identifiers. The driver
    /// never shows one; use ``receive(_:)`` and ``click(_:)``.
    public var scheduledNotifications: [LocalNotification] { notifications.all }

    /// Whether there is a saved state for the next process.
    public var hasSavedState: Bool { store.saved != nil }

    /// The number of background tasks that have begun but not ended.
    public var openBackgroundTasks: Int { application.backgroundTasks.count }

    /// The tasks that the handler has scheduled, by name. They are not run; see ``performTask(_:)``.
    public var scheduledTasks: [String: TaskOptions] { tasks.all }

    // MARK: Events

    /// Launches the handler without a URL, or brings it to the foreground.
    @discardableResult
    public func launch() async -> EventResult { await handle(.activate) }

    /// Does the same as ``launch()``: brings the handler to the foreground, and launches it if it is not running.
    @discardableResult
    public func enterForeground() async -> EventResult { await handle(.activate) }

    /// Opens a URL, after launching the handler or bringing it to the foreground.
    ///
    /// To cancel the URL as a sender does, cancel the task that calls this method. The cancellation counts as arriving
    /// after the sequence has begun: even if it comes earlier, the handler is launched or brought to the foreground.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - sourceApplication: the bundle identifier of the handler that sends the URL.
    ///   - annotation: additional data from the sender.
    ///   - inBackground: whether the handler stays in the background, or is launched into it.
    ///   - notifications: what changed while the handler was suspended, by kind.
    ///   - wantsReply: whether the sender has asked for a callback.
    ///
    /// - Throws: why `url` is not a URL. The handler's own answer is the result's ``EventResult/outcome``.
    @discardableResult
    public func open(
        _ url: String,
        from sourceApplication: String? = nil,
        annotation: Value? = nil,
        inBackground: Bool = false,
        notifications: [String: Value] = [:],
        wantsReply: Bool = false
    ) async throws(GenericURL.ParseError) -> EventResult {
        var context = OpenContext()
        context.sourceApplication = sourceApplication
        context.annotation = annotation
        context.inBackground = inBackground
        context.notifications = notifications
        context.wantsReply = wantsReply
        let reports = RecordedReports()
        let arrived = ArrivedURL("test", reports: reports)
        let parsed = try GenericURL(url)
        // A sender's cancellation reaches only the URL, so the other methods must not run in the cancelled task.
        let handling = Task { [application, context] in await application.handle(parsed, context, arrived) }
        let (outcome, trace) = await withTaskCancellationHandler {
            await handling.value
        } onCancel: {
            arrived.cancel()
        }
        return EventResult(
            outcome: outcome,
            state: application.state,
            trace: trace,
            progress: reports.all
        )
    }

    /// Interrupts an active handler, which then stays inactive until ``resume()`` or ``enterBackground()``. In any other
    /// state, nothing happens.
    @discardableResult
    public func interrupt() async -> EventResult { await handle(.resignActive) }

    /// Ends an interruption, so that the handler is active again. If it went to the background meanwhile, as it does
    /// when the machine sleeps, it comes back to the foreground.
    @discardableResult
    public func resume() async -> EventResult { await handle(.becomeActive) }

    /// Moves the handler to the background and saves its state. If the handler is not running, it is launched into the
    /// background.
    @discardableResult
    public func enterBackground() async -> EventResult { await handle(.enterBackground) }

    /// Launches the handler into the background for a reason, or gives a running handler what belongs to the reason.
    ///
    /// - Parameter notifications: what has changed, by kind.
    @discardableResult
    public func wake(
        _ reason: Reported<LaunchReason> = .known(.message),
        notifications: [String: Value] = [:]
    ) async -> EventResult {
        var context = WakeContext(reason)
        context.notifications = notifications
        return await wake(context)
    }

    /// Gives the handler a push, for which it is launched into the background if it is not running.
    ///
    /// - Returns: the result, whose ``EventResult/outcome`` says whether the delegate refused the push.
    @discardableResult
    public func push(_ notification: RemoteNotification) async -> EventResult {
        var context = WakeContext(.known(.push))
        context.push = notification
        return await wake(context)
    }

    /// Gives the handler a notification of its own quietly, as if it were due while the handler is active.
    @discardableResult
    public func receive(_ notification: LocalNotification) async -> EventResult {
        var context = WakeContext(.known(.notification))
        context.localNotification = notification
        return await wake(context)
    }

    /// Clicks on a notification of the handler: opens its URL, or brings the handler to the foreground if it has none. The
    /// handler is launched if it is not running.
    ///
    /// - Throws: why the notification's URL is not a URL.
    @discardableResult
    public func click(_ notification: LocalNotification) async throws(GenericURL.ParseError) -> EventResult {
        let clicked = notification.clicked()
        guard let url = notification.url else {
            let trace = await application.handle(.activate, clicked: clicked)
            return EventResult(outcome: .success([:]), state: application.state, trace: trace)
        }
        var context = OpenContext()
        context.sourceApplication = application.identifier.rawValue
        context.localNotification = clicked
        let (outcome, trace) = await application.handle(try GenericURL(url), context)
        return EventResult(outcome: outcome, state: application.state, trace: trace)
    }

    /// Has the handler perform a task, for which it is launched into the background if it is not running. It need not have
    /// scheduled the task.
    ///
    /// - Returns: the result, whose ``EventResult/taskResult`` is the delegate's answer. If the delegate throws an error,
    ///   ``EventResult/outcome`` has it.
    @discardableResult
    public func performTask(_ name: String) async -> EventResult {
        var context = WakeContext(.known(.task))
        context.task = name
        return await wake(context)
    }

    /// Has the handler fetch new content, as ``performTask(_:)`` has it perform a task.
    @discardableResult
    public func performFetch() async -> EventResult { await performTask(TasksInterface.fetch) }

    private func wake(_ context: WakeContext) async -> EventResult {
        let (outcome, trace) = await application.wake(context)
        var result = EventResult(outcome: outcome.map { _ in [:] }, state: application.state, trace: trace)
        if case .success(let answer) = outcome { result.taskResult = answer.result.known }
        return result
    }

    /// Warns a running handler that the system is short of memory.
    @discardableResult
    public func receiveMemoryWarning() async -> EventResult { await handle(.receiveMemoryWarning) }

    /// Notifies a running handler that a value has changed.
    @discardableResult
    public func notify(_ kind: String, _ value: Value) async -> EventResult {
        await handle(.notify, [kind: value])
    }

    /// Calls the expiration handlers of the open background tasks.
    public func expireBackgroundTasks() {
        application.backgroundTasks.expire()
    }

    /// Saves a running handler's state, and ends the handler.
    @discardableResult
    public func terminate() async -> EventResult {
        let saving = await handle(.prepareToTerminate)
        let end = await handle(.terminate)
        return EventResult(outcome: end.outcome, state: end.state, trace: saving.trace + end.trace)
    }

    private func handle(_ event: LifecycleEvent, _ notifications: [String: Value] = [:]) async -> EventResult {
        let trace = await application.handle(event, notifications: notifications)
        return EventResult(outcome: .success([:]), state: application.state, trace: trace)
    }
}

/// The result of an event.
public struct EventResult: Sendable {
    /// The answer to the sender of a URL, to a push or to a task: the handler's reply, or the reason for a refusal.
    ///
    /// For any other event, this is a success with an empty reply.
    public let outcome: Result<[String: Value], OpenURLError>
    /// The handler's state after the sequence.
    public let state: HandlerState
    /// The delegate's methods that were called, in order, and their results.
    public let trace: [TracePhase]
    /// Everything that the delegate has reported about its work on the URL. A real sender gets at most ten reports a
    /// second.
    public private(set) var progress: [ProgressReport] = []
    /// The delegate's answer to a task or a fetch; nil for any other event, and if the delegate has thrown an error.
    public fileprivate(set) var taskResult: TaskResult?

    /// The names of the delegate's methods, in the order in which they were called, such as `willFinishLaunching`.
    public var steps: [String] { trace.map(\.name) }
}

/// The reports about one URL.
private final class RecordedReports: ProgressSink {
    private let reports = Lock<[ProgressReport]>([])

    var all: [ProgressReport] { reports.withLock(\.self) }

    func add(_ report: ProgressReport) {
        reports.withLock { $0.append(report) }
    }

    func end() {}
}

/// The tasks that a handler and its earlier processes have scheduled.
private final class RecordedTasks: TaskScheduler {
    private let tasks = Lock<[String: TaskOptions]>([:])

    var all: [String: TaskOptions] { tasks.withLock(\.self) }

    func schedule(_ id: String, _ name: String, _ options: TaskOptions) {
        tasks.withLock { $0[name] = options }
    }

    func cancel(_ id: String, _ name: String) {
        tasks.withLock { $0 = $0.filter { !name.isEmpty && $0.key != name } }
    }

    func tasks(of id: String) -> [ScheduledTask] {
        all.sorted { $0.key < $1.key }.map { name, options in
            var task = ScheduledTask(handler: id, name: name, next: 0)
            task.interval = options.interval
            task.requirements = options.requirements
            return task
        }
    }
}

/// A handler's state in memory.
///
/// It is kept as encoded bytes, so that a test notices everything that a file would not preserve.
private final class MemoryStore: RestorableStateStore {
    private(set) var saved: [UInt8]?

    init(_ saved: [UInt8]?) {
        self.saved = saved
    }

    func beginLaunch() -> SavedState? {
        guard let bytes = saved else { return nil }
        do throws(DamagedArchive) {
            return try SavedState(bytes: bytes)
        } catch {
            return nil
        }
    }

    func finishLaunch() {
        saved = nil
    }

    func save(_ state: SavedState?) {
        saved = state?.bytes
    }
}

/// The notifications of a handler and of its earlier processes.
private final class ScheduledNotifications: NotificationScheduler {
    private struct State {
        var notifications: [String: LocalNotification] = [:]
        var last = 0
    }

    private let state = Lock(State())

    var all: [LocalNotification] {
        state.withLock { $0.notifications.values.sorted { $0.identifier < $1.identifier } }
    }

    func schedule(_ notification: LocalNotification, _ id: String) -> String {
        state.withLock { state in
            state.last += 1
            let identifier = notification.identifier.isEmpty ? "\(state.last)" : notification.identifier
            state.notifications[identifier] = notification.scheduled(as: identifier)
            return identifier
        }
    }

    func cancel(_ identifier: String?, _ id: String) {
        state.withLock { state in
            if let identifier { state.notifications[identifier] = nil } else { state.notifications = [:] }
        }
    }

    func list(_ id: String) -> [LocalNotification] { all }
}
