internal import DBus
internal import OpenURLBus

/// One event on its way through the delegate's methods, in the order of its sequence.
@MainActor final class EventSequence {
    /// The values that an event brings.
    enum Content {
        case url(OpenEvent)
        /// An event without a URL, and its values. There may be none.
        case other(LifecycleEvent, WakeContext)
    }

    private(set) var result: SequenceResult
    private let content: Content
    private let application: Application
    private let delegate: any ApplicationDelegate
    private let store: (any RestorableStateStore)?
    /// The state that an earlier process saved, once the launch has begun.
    private var saved: SavedState?
    /// The state on its way from the first step of saving or restoring to the second. Without it, the second does nothing.
    private var coder: RestorableStateCoder?

    init(_ content: Content, of application: Application) {
        self.content = content
        self.application = application
        delegate = application.delegate
        store = application.store
        if case .url(let event) = content, let accepted = event.context.accepted {
            result = SequenceResult(start: accepted)
        } else {
            result = SequenceResult()
        }
    }

    /// The place of the event in the handler's life.
    private var kind: LifecycleEvent {
        switch content {
        case .url(let event): event.kind
        case .other(let kind, _): kind
        }
    }

    /// The values of an event without a URL; nil for a URL.
    private var waking: WakeContext? {
        if case .other(_, let waking) = content { waking } else { nil }
    }

    private var launchOptions: LaunchOptions {
        switch content {
        case .url(let event): LaunchOptions(event)
        case .other(_, let waking): LaunchOptions(waking)
        }
    }

    private var notifications: [String: Value] {
        switch content {
        case .url(let event): event.context.notifications
        case .other(_, let waking): waking.notifications
        }
    }

    /// The handler's reply to the URL, or the reason for the refusal.
    var outcome: Result<[String: Value], OpenURLError> {
        // A refusal rejects only the URL: the launch and the process continue.
        if let veto = result.veto {
            return .failure(
                OpenURLError(.launchVetoed, "\(veto.rawValue) of \(application.identifier) refused the URL")
            )
        }
        if result.isCancelled { return .failure(application.cancellation) }
        switch result.response {
        case .handled(let reply): return .success(reply)
        case .declined(let reason):
            return .failure(OpenURLError(.declined, reason ?? "\(application.identifier) declined the URL"))
        }
    }

    /// The answer to the sender of the URL, or the reason for the refusal.
    var answer: Result<OpenAnswer, OpenURLError> {
        outcome.map { OpenAnswer(isHandled: true, reply: $0, trace: result.trace) }
    }

    // MARK: Steps

    /// Takes the event through all its steps, from the handler's current state.
    func run() async {
        for step in Lifecycle.steps(for: kind, in: application.state) {
            switch step {
            case .becomeNotRunning: application.state = .notRunning
            case .becomeInactive: application.state = .inactive
            case .becomeActive: application.state = .active
            case .becomeBackground: application.state = .background
            case .willFinishLaunching:
                // The saved state may be the cause even if a launch crashes in its first method.
                saved = store?.beginLaunch()
                let options = launchOptions
                await call(step) {
                    await delegate.application(application, willFinishLaunchingWithOptions: options)
                }
            case .didFinishLaunching:
                let options = launchOptions
                await call(step) {
                    await delegate.application(application, didFinishLaunchingWithOptions: options)
                }
                store?.finishLaunch()
            case .shouldRestoreApplicationState: coder = await coderToRestore()
            case .didDecodeRestorableState: await restore()
            case .didBecomeActive: await call(step) { await delegate.applicationDidBecomeActive(application) }
            case .willResignActive: await call(step) { await delegate.applicationWillResignActive(application) }
            case .didEnterBackground: await call(step) { await delegate.applicationDidEnterBackground(application) }
            case .shouldSaveApplicationState: coder = await coderToSave()
            case .willEncodeRestorableState: await save()
            case .willEnterForeground: await call(step) { await delegate.applicationWillEnterForeground(application) }
            case .willTerminate: await call(step) { await delegate.applicationWillTerminate(application) }
            case .didReceiveMemoryWarning:
                await call(step) { await delegate.applicationDidReceiveMemoryWarning(application) }
            case .didReceiveNotification: await deliverNotifications()
            case .didReceiveRemoteNotification:
                if let push = waking?.push { await deliver(push) }
            case .didReceiveLocalNotification:
                if let notification = waking?.localNotification {
                    await call(step) { await delegate.application(application, didReceive: notification) }
                }
            case .performTask:
                if let task = waking?.task { await perform(task) }
            case .open:
                if case .url(let event) = content { await open(event) }
            }
        }
    }

    /// Runs one of the delegate's methods as a step.
    private func call(_ step: LifecycleStep, _ body: () async -> Bool) async {
        begin(step)
        end(step, await body())
    }

    private func call(_ step: LifecycleStep, _ body: () async -> Void) async {
        await call(step) {
            await body()
            return true
        }
    }

    /// Shows the watchdog the name of the running method, so that it can report which one does not return.
    private func begin(_ step: LifecycleStep) {
        application.blackboard.update(phase: step.rawValue)
    }

    /// Notes that the step's method has returned, and calls the step's observers.
    private func end(_ step: LifecycleStep, _ answer: Bool) {
        application.blackboard.update(phase: "")
        result.add(step, answer)
        application.observers.post(step)
    }

    // MARK: The URL

    private func open(_ event: OpenEvent) async {
        if event.arrived?.isCancelled == true {
            result.isCancelled = true
            return
        }
        guard result.veto == nil else { return }
        if let arrived = event.arrived {
            endOpening(await beginOpening(event, arrived).result())
        } else {
            begin(.open)
            let body = method(for: event)
            endOpening(await ArrivedURL.$current.withValue(nil) { await Result(catching: body) })
        }
    }

    /// Begins the step in which the delegate opens the URL, which ends with ``endOpening(_:)``.
    func beginOpening(_ event: OpenEvent, _ arrived: ArrivedURL) -> DelegateWork {
        begin(.open)
        return DelegateWork(arrived, method(for: event))
    }

    /// Ends the step in which the delegate opens the URL.
    func endOpening(_ answer: Result<OpenResponse, any Error>) {
        end(.open, answer.isHandled)
        if case .url(let event) = content { result.take(answer, of: event.arrived) }
    }

    /// Returns the delegate's method, applied to the URL.
    private func method(for event: OpenEvent) -> @MainActor () async throws -> OpenResponse {
        { [application, delegate] in
            try await delegate.application(
                application,
                open: event.url,
                sourceApplication: event.context.sourceApplication,
                annotation: event.context.annotation
            )
        }
    }

    // MARK: Notifications and tasks

    private func deliverNotifications() async {
        for (kind, value) in notifications.sorted(by: { $0.key < $1.key }) {
            await call(.didReceiveNotification) {
                await delegate.application(application, didReceiveNotification: kind, value: value)
            }
            application.observers.post(kind, value)
        }
    }

    private func deliver(_ push: RemoteNotification) async {
        await call(.didReceiveRemoteNotification) {
            do {
                try await delegate.application(application, didReceiveRemoteNotification: push)
                return true
            } catch {
                result.refusal = String(describing: error)
                return false
            }
        }
    }

    private func perform(_ task: String) async {
        await call(.performTask) {
            do {
                let isFetch = task == TasksInterface.fetch
                let answer =
                    isFetch
                    ? try await delegate.applicationPerformFetch(application)
                    : try await delegate.application(application, performTask: task)
                result.wakeAnswer.result = .known(answer)
                return answer != .failed
            } catch {
                result.refusal = String(describing: error)
                return false
            }
        }
    }

    // MARK: State preservation

    /// Asks the delegate whether to restore the saved state. Returns nil if not, or if there is none.
    private func coderToRestore() async -> RestorableStateCoder? {
        guard let saved else { return nil }
        let coder = RestorableStateCoder(version: saved.version, values: saved.values)
        var isWanted = false
        await call(.shouldRestoreApplicationState) {
            isWanted = await delegate.application(application, shouldRestoreApplicationState: coder)
            return isWanted
        }
        return isWanted ? coder : nil
    }

    private func restore() async {
        guard let coder else { return }
        await call(.didDecodeRestorableState) {
            do {
                try await delegate.application(application, didDecodeRestorableStateWith: coder)
                return true
            } catch {
                Application.complain(application.identifier, "its state was not restored: \(error)")
                return false
            }
        }
    }

    /// Asks the delegate whether to save its state. Returns an empty coder if so.
    private func coderToSave() async -> RestorableStateCoder? {
        guard let store else { return nil }
        let coder = RestorableStateCoder(version: delegate.restorationVersion)
        var isWanted = false
        await call(.shouldSaveApplicationState) {
            isWanted = await delegate.application(application, shouldSaveApplicationState: coder)
            return isWanted
        }
        if !isWanted { store.save(nil) }
        return isWanted ? coder : nil
    }

    private func save() async {
        guard let coder, let store else { return }
        var state: SavedState?
        await call(.willEncodeRestorableState) {
            do {
                try await delegate.application(application, willEncodeRestorableStateWith: coder)
                if !coder.values.isEmpty { state = SavedState(version: coder.version, values: coder.values) }
                return true
            } catch {
                Application.complain(application.identifier, "its state was not saved: \(error)")
                return false
            }
        }
        store.save(state)
    }
}
