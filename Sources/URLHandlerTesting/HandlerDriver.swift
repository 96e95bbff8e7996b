public import DBus
public import OpenURLBus
public import RFC1808
internal import Reactor
public import URLHandler

/// Runs a delegate through the lifecycle sequences in a unit test, without a bus, a router or another process.
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
/// Each method returns when the delegate has completed the whole sequence. Events are handled in the order of the
/// calls. Do not call a method before the previous call has returned.
@MainActor public final class HandlerDriver {
    /// The application that the delegate's methods receive.
    public let application: Application
    private let store: MemoryStore

    /// Creates a handler that has not been launched.
    ///
    /// - Parameters:
    ///   - identifier: the handler's bundle identifier.
    ///   - delegate: the delegate under test; the driver keeps a strong reference to it.
    ///   - previous: the previous process of the handler. The launch of this handler restores the state that the
    ///     previous process saved. A process whose launch has not ended leaves the state that it was offered.
    public init(
        _ identifier: BusName = "com.example.test",
        delegate: any ApplicationDelegate,
        after previous: HandlerDriver? = nil
    ) {
        store = MemoryStore(previous?.store.saved)
        application = Application(identifier, delegate: delegate, store: store)
    }

    /// Whether there is a saved state for the next process.
    public var hasSavedState: Bool { store.saved != nil }

    /// The number of background tasks that have begun and not ended.
    public var openBackgroundTasks: Int { application.backgroundTasks.count }

    // MARK: Events

    /// Launches the handler without a URL, or brings it to the foreground.
    @discardableResult
    public func launch() async -> EventResult { await handle(.activate) }

    /// Brings the handler to the foreground, and launches the handler if it does not run. The same as ``launch()``.
    @discardableResult
    public func enterForeground() async -> EventResult { await handle(.activate) }

    /// Opens a URL; launches the handler or brings it to the foreground first.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - sourceApplication: the bundle identifier of the handler that sends the URL.
    ///   - annotation: additional data from the sender.
    ///   - inBackground: whether the handler stays in the background, or is launched into it.
    ///   - notifications: the changes during the handler's suspension, by kind.
    ///   - wantsReply: whether the sender has asked for a callback.
    ///
    /// A test that cancels the task that calls this method cancels the URL, as a sender does.
    ///
    /// - Throws: the reason why `url` is not a URL. The handler's own answer is the ``EventResult/outcome`` of the
    ///   result.
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
        let (outcome, trace) = await application.handle(try GenericURL(url), context, arrived)
        return EventResult(
            outcome: outcome,
            state: application.state,
            trace: trace,
            progress: reports.all
        )
    }

    /// Takes the handler to the background and saves its state. A handler that does not run is launched into the
    /// background.
    @discardableResult
    public func enterBackground() async -> EventResult { await handle(.enterBackground) }

    /// Tells a running handler that the system is short of memory.
    @discardableResult
    public func receiveMemoryWarning() async -> EventResult { await handle(.receiveMemoryWarning) }

    /// Tells a running handler that a value has changed.
    @discardableResult
    public func notify(_ kind: String, _ value: Value) async -> EventResult {
        await handle(.notify, [kind: value])
    }

    /// Calls the expiration handlers of the open background tasks.
    public func expireBackgroundTasks() {
        application.backgroundTasks.expire()
    }

    /// Saves the state of a running handler and ends the handler.
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
    /// The answer to the sender of a URL: the handler's reply, or the reason for a refusal.
    ///
    /// For an event without a URL the outcome is a success with an empty reply.
    public let outcome: Result<[String: Value], OpenURLError>
    /// The handler's state after the sequence.
    public let state: HandlerState
    /// The delegate's methods in the order of their calls, with their answers.
    public let trace: [TracePhase]
    /// All that the delegate has reported about its work on the URL. The sender of a real URL gets at most ten reports a second.
    public private(set) var progress: [ProgressReport] = []

    /// The names of the delegate's methods in the order of their calls, such as `willFinishLaunching`.
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

/// A handler's state in memory.
///
/// The store keeps the encoded bytes, so that a test notices everything that a file would not preserve.
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
