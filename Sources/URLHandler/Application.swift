public import DBus
internal import Glibc
public import OpenURLBus
package import RFC1808

/// A running handler: its state, and the event sequences that call its delegate.
///
/// ```swift
/// @main struct Echo {
///     static func main() async {
///         await Application.main("com.example.echo", delegate: EchoDelegate())
///     }
/// }
/// ```
@MainActor
public final class Application {
    /// The bundle identifier, which is also the handler's name on the bus.
    public nonisolated let identifier: BusName
    /// The bundle that declares the handler, and the directories for the handler's files.
    public nonisolated let directories: HandlerDirectories
    /// The handler's state (Table 3-1 of the app programming guide).
    ///
    /// It is `notRunning` until the launch begins. During the launch it is `inactive`, or `background` if the handler
    /// is launched into the background. During an interruption, it is `inactive`.
    public internal(set) var state = HandlerState.notRunning {
        didSet { blackboard.update(state: state) }
    }
    /// The sender of the URL that is being opened, according to the bus and the kernel; nil between URLs.
    public var source: OpenContext.Source? { opened?.context.source }
    /// The token that lets one of the handler's windows take the focus.
    ///
    /// The token comes from the sender of the URL that is being opened, or from the handler that returns to this one.
    /// Use it with Wayland's `xdg_activation_v1`, or with toolkits' functions such as `gdk_toplevel_set_startup_id`. It
    /// is nil at other times, or if no token was passed.
    public var activationToken: String? { opened?.context.activationToken ?? tokens?.activationToken }
    /// The ID of the startup notification, from the sender of the URL that is being opened. This is X11's counterpart
    /// to the activation token.
    ///
    /// It is nil between URLs, or if the sender passed no ID.
    public var desktopStartupID: String? { opened?.context.desktopStartupID ?? tokens?.desktopStartupID }

    /// The ID of the request for the URL that is being opened; nil between URLs. See `OpenContext.requestID`.
    public var requestID: String? { opened?.context.requestID }
    /// The place in the sender's trace of the URL that is being opened (W3C Trace Context); nil between URLs, or if the
    /// sender passed none.
    public var traceParent: TraceParent? { opened?.context.traceParent }

    /// Whether another program is waiting for the reply to the URL that is being opened, because it asked for a
    /// callback (x-callback-url). It is false between URLs.
    public var wantsReply: Bool { opened?.context.wantsReply ?? false }

    /// The push for which the router opens the URL that is being opened, because the manifest has `OUPushURL`; nil for
    /// every other URL, and between URLs.
    public var remoteNotification: RemoteNotification? { opened?.context.push }

    /// The handler's own notification that the user has clicked on to open the URL that is being opened; nil for every
    /// other URL, and between URLs.
    public var localNotification: LocalNotification? { opened?.context.localNotification }

    /// The URL that is being opened; nil between URLs.
    private var opened: OpenEvent?
    /// The focus tokens during an event without a URL; nil at other times.
    private var tokens: OpenOptions?
    package let backgroundTasks: BackgroundTasks
    let wayBack: (any WayBack)?
    let pushes: (any PushRegistrar)?
    let notifications: (any NotificationScheduler)?
    let tasks: (any TaskScheduler)?
    let observers = Observers()
    let delegate: any ApplicationDelegate
    let blackboard: WatchdogBlackboard
    /// Nil if the handler neither restores nor saves a state.
    let store: (any RestorableStateStore)?
    private var terminate: () -> Void = {}

    package init(
        _ identifier: BusName,
        delegate: any ApplicationDelegate,
        directories: HandlerDirectories = HandlerDirectories(),
        blackboard: WatchdogBlackboard = WatchdogBlackboard(),
        timekeeper: (any BackgroundTimekeeper)? = nil,
        wayBack: (any WayBack)? = nil,
        pushes: (any PushRegistrar)? = nil,
        notifications: (any NotificationScheduler)? = nil,
        tasks: (any TaskScheduler)? = nil,
        store: (any RestorableStateStore)? = nil
    ) {
        self.wayBack = wayBack
        self.pushes = pushes
        self.notifications = notifications
        self.tasks = tasks
        self.identifier = identifier
        self.directories = directories
        self.delegate = delegate
        self.blackboard = blackboard
        self.store = store
        backgroundTasks = BackgroundTasks(blackboard, timekeeper)
    }

    // MARK: Events

    /// Opens a URL. If the handler's state requires it, the handler is launched or brought to the foreground first
    /// ("Handling URL Requests").
    ///
    /// If the handler is in the foreground and its delegate answers without waiting, the URL has been opened when the
    /// method returns.
    ///
    /// - Parameter end: takes the answer or the error, once. The error has the code `launchVetoed`, `declined` or
    ///   `cancelled`.
    /// - Returns: the rest of the work, which calls `end`; nil if the method has already called `end`.
    func open(
        _ event: OpenEvent,
        _ end: @escaping @Sendable (Result<OpenAnswer, OpenURLError>) -> Void
    ) -> EventQueue.Remainder? {
        // A URL that was cancelled while it was in the queue does not bring the handler to the foreground.
        if event.arrived?.isCancelled == true {
            guard state == .notRunning, event.context.inBackground else {
                end(.failure(cancellation))
                return nil
            }
            // The router counts on a handler in the background, which can be suspended.
            return {
                await self.handle(.enterBackground)
                end(.failure(self.cancellation))
            }
        }
        guard let arrived = event.arrived, event.context.notifications.isEmpty,
            Lifecycle.steps(for: event.kind, in: state) == [.didReceiveNotification, .open]
        else {
            return { end(await self.run(event).answer) }
        }
        opened = event
        let sequence = EventSequence(.url(event), of: self)
        let work = sequence.beginOpening(event, arrived)
        guard let answer = work.resultWithoutReports else {
            return { end(self.conclude(sequence, await work.result())) }
        }
        end(conclude(sequence, answer))
        return nil
    }

    /// Ends the one step that a URL takes if the handler is in the foreground.
    private func conclude(
        _ sequence: EventSequence,
        _ answer: Result<OpenResponse, any Error>
    ) -> Result<OpenAnswer, OpenURLError> {
        sequence.endOpening(answer)
        opened = nil
        return sequence.answer
    }

    /// Runs the sequence for a URL.
    private func run(_ event: OpenEvent) async -> EventSequence {
        opened = event
        defer { opened = nil }
        let sequence = EventSequence(.url(event), of: self)
        await sequence.run()
        return sequence
    }

    /// Runs the sequence for a URL.
    ///
    /// - Parameter arrived: a way to cancel the URL and to report on it.
    /// - Returns: the handler's reply or the reason for the refusal, and the trace of the delegate's methods that ran.
    package func handle(
        _ url: GenericURL,
        _ context: OpenContext,
        _ arrived: ArrivedURL? = nil
    ) async -> (outcome: Result<[String: Value], OpenURLError>, trace: [TracePhase]) {
        let sequence = await run(OpenEvent(url, context, arrived))
        return (sequence.outcome, sequence.result.trace)
    }

    /// Runs the sequence for an event without a URL.
    ///
    /// - Parameters:
    ///   - tokens: options with the focus tokens.
    ///   - clicked: the handler's own notification, if the user has clicked on one.
    /// - Returns: the trace of the delegate's methods that ran.
    @discardableResult
    package func handle(
        _ event: LifecycleEvent,
        notifications: [String: Value] = [:],
        tokens: OpenOptions = OpenOptions(),
        clicked: LocalNotification? = nil
    ) async -> [TracePhase] {
        self.tokens = tokens
        defer { self.tokens = nil }
        var context = WakeContext()
        if event == .activate { context.reason = .known(clicked == nil ? .activation : .notification) }
        context.notifications = notifications
        context.localNotification = clicked
        let sequence = EventSequence(.other(event, context), of: self)
        await sequence.run()
        return sequence.result.trace
    }

    /// Launches the handler into the background if necessary, and gives it what the context holds.
    ///
    /// - Returns: the delegate's answer, or why it refused a push or failed in a task, and the trace of the delegate's
    ///   methods that ran.
    package func wake(
        _ context: WakeContext
    ) async -> (outcome: Result<WakeAnswer, OpenURLError>, trace: [TracePhase]) {
        let sequence = EventSequence(.other(.wake, context), of: self)
        await sequence.run()
        let result = sequence.result
        guard let refusal = result.refusal else { return (.success(result.wakeAnswer), result.trace) }
        return (.failure(OpenURLError(.declined, refusal)), result.trace)
    }

    /// The error for a URL that was cancelled.
    nonisolated var cancellation: OpenURLError {
        OpenURLError(.cancelled, "\(identifier) stopped its work on the URL")
    }

    /// Reports to the sender how much of the work on a URL is done.
    ///
    /// The report belongs to the URL that the current task handles: the task of
    /// ``ApplicationDelegate/application(_:open:sourceApplication:annotation:)``, and every task that it starts except
    /// detached ones. In any other task, after the answer, or if the sender does not listen, this does nothing. Call it
    /// as often as there is something to report: the sender gets at most ten reports a second, and always gets the last
    /// one.
    ///
    /// - Parameters:
    ///   - fraction: the part of the work that is done, from 0 to 1. A value that is not a number is ignored.
    ///   - message: the current work, for people to read; at most 256 bytes.
    public nonisolated func reportProgress(_ fraction: Double, _ message: String = "") {
        guard let report = ProgressReport(fraction, message) else { return }
        ArrivedURL.current?.report(report)
    }

    // MARK: Ending

    /// Ends the handler once it has handled the events that have already arrived.
    ///
    /// It saves its state, calls the delegate's `applicationWillTerminate`, and exits with status 0. If this takes
    /// longer than five seconds, it exits with status 1. The events themselves have as much time as usual, and events
    /// that arrive in the meantime are handled too.
    public func endWhenIdle() {
        terminate()
    }

    /// Sets the function that ``endWhenIdle()`` calls.
    func onTerminate(_ body: @escaping () -> Void) {
        terminate = body
    }

    /// Writes a message to standard error.
    nonisolated static func complain(_ identifier: BusName, _ message: String) {
        let line = Array("\(identifier): \(message)\n".utf8)
        _ = unsafe write(STDERR_FILENO, line, line.count)
    }
}
