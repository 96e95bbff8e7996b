public import DBus
public import OpenURLBus
public import RFC1808
public import URLHandler

/// Takes a delegate through the sequences of the lifecycle in a unit test: no bus, no router, no other process.
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
/// Each method returns when the delegate has been through the whole sequence. What is opened or told here is handled in order;
/// a method must not be called while another one has not returned.
@MainActor public final class HandlerDriver {
    /// What the delegate's methods are handed.
    public let application: Application
    private let store: MemoryStore

    /// Makes a handler that has not been launched.
    ///
    /// - Parameters:
    ///   - identifier: the handler's bundle identifier.
    ///   - delegate: what is tested; the driver keeps it.
    ///   - previous: the handler's process before this one, whose saved state this one finds at its launch. A process that
    ///     has not finished the launch in which it restored leaves none.
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

    /// How many background tasks have begun and not ended.
    public var openBackgroundTasks: Int { application.backgroundTasks.count }

    // MARK: Events

    /// Launches the handler without a URL, or brings it to the foreground.
    @discardableResult
    public func launch() async -> EventResult { await handle(.activate) }

    /// Brings the handler to the foreground, launching it if need be; the same as ``launch()``.
    @discardableResult
    public func enterForeground() async -> EventResult { await handle(.activate) }

    /// Opens a URL, launching the handler or bringing it to the foreground first.
    ///
    /// - Parameters:
    ///   - url: the URL.
    ///   - sourceApplication: the bundle identifier of the handler that sends it.
    ///   - annotation: what the sender wants to be known besides.
    ///   - inBackground: whether the handler stays in the background, or is launched into it.
    ///   - notifications: what has changed while the handler was suspended.
    /// - Throws: why `url` is no URL; what the handler makes of it is the result's ``EventResult/outcome``.
    @discardableResult
    public func open(
        _ url: String,
        from sourceApplication: String? = nil,
        annotation: Value? = nil,
        inBackground: Bool = false,
        notifications: [String: Value] = [:]
    ) async throws(GenericURL.ParseError) -> EventResult {
        var context = OpenContext()
        context.sourceApplication = sourceApplication
        context.annotation = annotation
        context.inBackground = inBackground
        context.notifications = notifications
        let (outcome, trace) = await application.handle(try GenericURL(url), context)
        return EventResult(outcome: outcome, state: application.state, trace: trace)
    }

    /// Takes the handler to the background, launching it into the background if need be; its state is saved.
    @discardableResult
    public func enterBackground() async -> EventResult { await handle(.enterBackground) }

    /// Tells a handler that runs that the system is short of memory.
    @discardableResult
    public func receiveMemoryWarning() async -> EventResult { await handle(.receiveMemoryWarning) }

    /// Tells a handler that runs that something has changed.
    @discardableResult
    public func notify(_ kind: String, _ value: Value) async -> EventResult {
        await handle(.notify, [kind: value])
    }

    /// Calls the expiration handlers of the background tasks that are open.
    public func expireBackgroundTasks() {
        application.backgroundTasks.expire()
    }

    /// Ends a handler that runs.
    @discardableResult
    public func terminate() async -> EventResult { await handle(.terminate) }

    private func handle(_ event: LifecycleEvent, _ notifications: [String: Value] = [:]) async -> EventResult {
        let trace = await application.handle(event, notifications: notifications)
        return EventResult(outcome: .success([:]), state: application.state, trace: trace)
    }
}

/// What an event led to.
public struct EventResult: Sendable {
    /// What the sender of a URL gets: the handler's reply, or why there is none. Empty and a success for other events.
    public let outcome: Result<[String: Value], OpenURLError>
    /// The handler's state after the sequence.
    public let state: HandlerState
    /// The delegate's methods in the order of their calls, with what they answered.
    public let trace: [TracePhase]

    /// The names of the delegate's methods in the order of their calls, such as `willFinishLaunching`.
    public var steps: [String] { trace.map(\.name) }
}

/// A handler's state in memory: its bytes, so that what a file does not keep is not kept here either.
private final class MemoryStore: RestorableStateStore {
    private(set) var saved: [UInt8]?

    init(_ saved: [UInt8]?) {
        self.saved = saved
    }

    func beginRestoring() -> SavedState? {
        guard let bytes = saved else { return nil }
        saved = nil
        do throws(DamagedArchive) {
            return try SavedState(bytes: bytes)
        } catch {
            return nil
        }
    }

    func finishRestoring() {}

    func save(_ state: SavedState?) {
        saved = state?.bytes
    }
}
