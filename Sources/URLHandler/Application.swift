internal import CLinux
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
    public private(set) var state = HandlerState.notRunning {
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
    private let delegate: any ApplicationDelegate
    private let blackboard: WatchdogBlackboard
    private let store: (any RestorableStateStore)?
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
    /// - Throws: `OpenURLError` with the code `launchVetoed`, `declined` or `cancelled`.
    func open(
        _ url: GenericURL,
        _ context: OpenContext,
        _ arrived: ArrivedURL? = nil
    ) async throws(OpenURLError) -> OpenAnswer {
        let (outcome, trace) = await handle(url, context, arrived)
        return OpenAnswer(isHandled: true, reply: try outcome.get(), trace: trace)
    }

    /// Opens a URL as ``open(_:_:_:)`` does.
    ///
    /// If the handler is in the foreground and its delegate answers without waiting, the URL has been opened when the
    /// method returns.
    ///
    /// - Parameter end: takes the answer or the error, once.
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
        let kind = event.context.inBackground ? LifecycleEvent.openInBackground : .open
        guard let arrived = event.arrived, event.context.notifications.isEmpty,
            Lifecycle.steps(for: kind, in: state) == [.didReceiveNotification, .open]
        else {
            return {
                do throws(OpenURLError) {
                    end(.success(try await self.open(event.url, event.context, event.arrived)))
                } catch {
                    end(.failure(error))
                }
            }
        }
        let start = event.context.accepted ?? TracePhase.now
        opened = event
        blackboard.update(phase: LifecycleStep.open.rawValue)
        let work = DelegateWork(arrived) { [delegate] in
            try await delegate.application(
                self,
                open: event.url,
                sourceApplication: event.context.sourceApplication,
                annotation: event.context.annotation
            )
        }
        guard let result = work.resultWithoutReports else {
            return { end(self.conclude(event, start, await work.result())) }
        }
        end(conclude(event, start, result))
        return nil
    }

    /// Ends the one step that a URL takes if the handler is in the foreground.
    private func conclude(
        _ event: OpenEvent,
        _ start: UInt64,
        _ answer: Result<OpenResponse, any Error>
    ) -> Result<OpenAnswer, OpenURLError> {
        var result = SequenceResult(start: start)
        end(.open, &result, answer.isHandled)
        result.take(answer, of: event.arrived)
        opened = nil
        return outcome(of: result).map { OpenAnswer(isHandled: true, reply: $0, trace: result.trace) }
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
        var result = SequenceResult(start: context.accepted ?? TracePhase.now)
        opened = OpenEvent(url, context, arrived)
        defer { opened = nil }
        let event = context.inBackground ? LifecycleEvent.openInBackground : .open
        await perform(event, url, context, arrived, WakeContext(.known(.url)), &result)
        return (outcome(of: result), result.trace)
    }

    private func outcome(of result: SequenceResult) -> Result<[String: Value], OpenURLError> {
        // A refusal rejects only the URL: the launch and the process continue.
        if let veto = result.veto {
            return .failure(OpenURLError(.launchVetoed, "\(veto.rawValue) of \(identifier) refused the URL"))
        }
        if result.isCancelled { return .failure(cancellation) }
        switch result.response {
        case .handled(let reply): return .success(reply)
        case .declined(let reason):
            return .failure(OpenURLError(.declined, reason ?? "\(identifier) declined the URL"))
        }
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
        var context = OpenContext()
        context.notifications = notifications
        context.localNotification = clicked
        var result = SequenceResult()
        let activation = WakeContext(.known(clicked == nil ? .activation : .notification))
        await perform(event, nil, context, nil, event == .activate ? activation : WakeContext(), &result)
        return result.trace
    }

    /// Launches the handler into the background if necessary, and gives it what the context holds.
    ///
    /// - Returns: the delegate's answer, or why it refused a push or failed in a task, and the trace of the delegate's
    ///   methods that ran.
    package func wake(
        _ waking: WakeContext
    ) async -> (outcome: Result<WakeAnswer, OpenURLError>, trace: [TracePhase]) {
        var context = OpenContext()
        context.notifications = waking.notifications
        context.push = waking.push
        context.localNotification = waking.localNotification
        var result = SequenceResult()
        await perform(.wake, nil, context, nil, waking, &result)
        guard let refusal = result.refusal else { return (.success(result.wakeAnswer), result.trace) }
        return (.failure(OpenURLError(.declined, refusal)), result.trace)
    }

    private func perform(
        _ event: LifecycleEvent,
        _ url: GenericURL?,
        _ context: OpenContext,
        _ arrived: ArrivedURL?,
        _ waking: WakeContext,
        _ result: inout SequenceResult
    ) async {
        // Saving and restoring take two steps each, and the coder passes the state between them. Without a coder, the
        // second step does nothing.
        var coder: RestorableStateCoder?
        var saved: SavedState?
        for step in Lifecycle.steps(for: event, in: state) {
            switch step {
            case .becomeNotRunning: state = .notRunning
            case .becomeInactive: state = .inactive
            case .becomeActive: state = .active
            case .becomeBackground: state = .background
            case .willFinishLaunching:
                // The saved state may be the cause even if a launch crashes in its first method.
                saved = store?.beginLaunch()
                let options = LaunchOptions(url, context, waking)
                await call(step, &result) {
                    await delegate.application(self, willFinishLaunchingWithOptions: options)
                }
            case .didFinishLaunching:
                let options = LaunchOptions(url, context, waking)
                await call(step, &result) {
                    await delegate.application(self, didFinishLaunchingWithOptions: options)
                }
                store?.finishLaunch()
            case .shouldRestoreApplicationState: coder = await coderToRestore(saved, &result)
            case .didDecodeRestorableState: await restore(coder, &result)
            case .didBecomeActive: await call(step, &result) { await delegate.applicationDidBecomeActive(self) }
            case .willResignActive: await call(step, &result) { await delegate.applicationWillResignActive(self) }
            case .didEnterBackground: await call(step, &result) { await delegate.applicationDidEnterBackground(self) }
            case .shouldSaveApplicationState: coder = await stateToSave(&result)
            case .willEncodeRestorableState: await save(coder, &result)
            case .willEnterForeground: await call(step, &result) { await delegate.applicationWillEnterForeground(self) }
            case .willTerminate: await call(step, &result) { await delegate.applicationWillTerminate(self) }
            case .didReceiveMemoryWarning:
                await call(step, &result) { await delegate.applicationDidReceiveMemoryWarning(self) }
            case .didReceiveNotification: await deliver(context.notifications, &result)
            case .didReceiveRemoteNotification: await deliver(context.push, &result)
            case .didReceiveLocalNotification:
                guard let notification = context.localNotification else { continue }
                await call(step, &result) { await delegate.application(self, didReceive: notification) }
            case .performTask: await perform(waking.task, &result)
            case .open:
                if arrived?.isCancelled == true {
                    result.isCancelled = true
                } else if let url, result.veto == nil {
                    await open(url, context, arrived, &result)
                }
            }
        }
    }

    private func open(
        _ url: GenericURL,
        _ context: OpenContext,
        _ arrived: ArrivedURL?,
        _ result: inout SequenceResult
    ) async {
        var answer = Result<OpenResponse, any Error>.success(.declined())
        await call(.open, &result) {
            let body: @MainActor () async throws -> OpenResponse = { [delegate] in
                try await delegate.application(
                    self,
                    open: url,
                    sourceApplication: context.sourceApplication,
                    annotation: context.annotation
                )
            }
            if let arrived {
                answer = await DelegateWork(arrived, body).result()
            } else {
                answer = await ArrivedURL.$current.withValue(nil) { await Result(catching: body) }
            }
            return answer.isHandled
        }
        result.take(answer, of: arrived)
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

    private func deliver(_ notifications: [String: Value], _ result: inout SequenceResult) async {
        if notifications.isEmpty { return }
        for (kind, value) in notifications.sorted(by: { $0.key < $1.key }) {
            await call(.didReceiveNotification, &result) {
                await delegate.application(self, didReceiveNotification: kind, value: value)
            }
            observers.post(kind, value)
        }
    }

    private func deliver(_ push: RemoteNotification?, _ result: inout SequenceResult) async {
        guard let push else { return }
        var refusal: String?
        await call(.didReceiveRemoteNotification, &result) {
            do {
                try await delegate.application(self, didReceiveRemoteNotification: push)
                return true
            } catch {
                refusal = String(describing: error)
                return false
            }
        }
        result.refusal = refusal
    }

    private func perform(_ task: String?, _ result: inout SequenceResult) async {
        guard let task else { return }
        var refusal: String?
        var answer = Reported<TaskResult>.absent
        await call(.performTask, &result) {
            do {
                let isFetch = task == TasksInterface.fetch
                answer = .known(
                    isFetch
                        ? try await delegate.applicationPerformFetch(self)
                        : try await delegate.application(self, performTask: task)
                )
                return answer != .known(.failed)
            } catch {
                refusal = String(describing: error)
                return false
            }
        }
        result.wakeAnswer.result = answer
        result.refusal = refusal
    }

    // MARK: State preservation

    /// Asks the delegate whether to restore the saved state.
    ///
    /// - Returns: the state to restore, or nil.
    private func coderToRestore(
        _ state: SavedState?,
        _ result: inout SequenceResult
    ) async -> RestorableStateCoder? {
        guard let state else { return nil }
        let coder = RestorableStateCoder(version: state.version, values: state.values)
        var isWanted = false
        await call(.shouldRestoreApplicationState, &result) {
            isWanted = await delegate.application(self, shouldRestoreApplicationState: coder)
            return isWanted
        }
        return isWanted ? coder : nil
    }

    private func restore(_ coder: RestorableStateCoder?, _ result: inout SequenceResult) async {
        guard let coder else { return }
        await call(.didDecodeRestorableState, &result) {
            do {
                try await delegate.application(self, didDecodeRestorableStateWith: coder)
                return true
            } catch {
                Self.complain(identifier, "its state was not restored: \(error)")
                return false
            }
        }
    }

    /// Asks the delegate whether to save its state.
    ///
    /// - Returns: an empty coder if the state is to be saved, otherwise nil.
    private func stateToSave(_ result: inout SequenceResult) async -> RestorableStateCoder? {
        guard let store else { return nil }
        let coder = RestorableStateCoder(version: delegate.restorationVersion)
        var isWanted = false
        await call(.shouldSaveApplicationState, &result) {
            isWanted = await delegate.application(self, shouldSaveApplicationState: coder)
            return isWanted
        }
        if !isWanted { store.save(nil) }
        return isWanted ? coder : nil
    }

    private func save(_ coder: RestorableStateCoder?, _ result: inout SequenceResult) async {
        guard let coder, let store else { return }
        var state: SavedState?
        await call(.willEncodeRestorableState, &result) {
            do {
                try await delegate.application(self, willEncodeRestorableStateWith: coder)
                if !coder.values.isEmpty { state = SavedState(version: coder.version, values: coder.values) }
                return true
            } catch {
                Self.complain(identifier, "its state was not saved: \(error)")
                return false
            }
        }
        store.save(state)
    }

    // MARK: Steps

    /// Runs one of the delegate's methods, and then calls the step's observers.
    ///
    /// The watchdog sees the name of the running method, so that it can report which one does not return.
    private func call(_ step: LifecycleStep, _ result: inout SequenceResult, _ body: () async -> Bool) async {
        blackboard.update(phase: step.rawValue)
        end(step, &result, await body())
    }

    private func end(_ step: LifecycleStep, _ result: inout SequenceResult, _ answer: Bool) {
        blackboard.update(phase: "")
        result.add(step, answer)
        observers.post(step)
    }

    private func call(_ step: LifecycleStep, _ result: inout SequenceResult, _ body: () async -> Void) async {
        await call(step, &result) {
            await body()
            return true
        }
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
