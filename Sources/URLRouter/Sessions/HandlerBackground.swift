internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage

/// The part of a handler's session that ``HandlerBackground`` uses.
protocol BackgroundView: SessionView {
    var requests: RequestQueue { get }
    /// Notes that the name's owner has launched.
    func finishLaunch(_ owner: BusName)
}

/// One handler's time in the background: entering it, the stay with its tasks, and the suspension.
///
/// It belongs to the router's actor.
final class HandlerBackground {
    private let id: BusName
    private let shared: SharedParts
    private let timers: HandlerTimers
    private let watchdog: ProgressWatchdog
    private unowned let session: any BackgroundView

    init(
        _ id: BusName,
        _ shared: SharedParts,
        _ timers: HandlerTimers,
        _ watchdog: ProgressWatchdog,
        _ session: any BackgroundView
    ) {
        self.id = id
        self.shared = shared
        self.timers = timers
        self.watchdog = watchdog
        self.session = session
    }

    private var process: HandlerProcess { session.process }

    /// Tells a handler that is leaving the foreground to enter the background.
    func enter(_ owner: BusName) async {
        let session = session
        // Before the handler was told about the background, a URL may have brought it back to the foreground.
        guard session.machine.state == .running(owner: owner, .leaving) else { return }
        let process = process
        process.backgroundFailure = nil
        let transition = process.begin(HandlerInterface.enterBackground.name)
        watchdog.startTransition()
        do throws(CallError) {
            try await shared.bus.enterBackground(id, at: owner, timeout: shared.limits.eventTimeout)
            session.finishLaunch(owner)
        } catch .remote(let error) where error.isFromMissingMethod {
            // The handler makes no distinction between foreground and background, so it simply continues.
            if session.machine.connection == owner { process.isSuspendable = false }
        } catch {
            let reason = shared.withoutSecrets("\(error)", of: id)
            shared.log.warning("\(id) did not go to the background cleanly: \(reason)")
            if case .remote(let answer) = error, !answer.isFromBus {
                let refusal = shared.declined(by: id, answer, subject: "the change")
                let words: QuotingText = "\(id) is in the background, but EnterBackground failed: \(refusal)"
                process.backgroundFailure = OpenURLError(refusal.code, shared.withoutSecrets(words, of: id))
            }
        }
        // In the meantime, the handler may have been in the foreground, and may be on its way to the background
        // again.
        guard process.end(transition), process === self.process else { return }
        session.handle(.reachedBackground(owner: owner))
    }

    // MARK: Suspension

    /// Starts the suspend delay, unless there is a reason not to suspend the handler.
    func scheduleSuspension() {
        let delay = session.handler.manifest.suspendDelay ?? shared.limits.suspendDelay
        let end = process.stay.suspensionTime ?? .now + delay
        process.stay.suspensionTime = end
        guard !timers.state.isRunning, reasonNotToSuspend == nil else { return }
        timers.start(timers.state, in: max(SuspendingClock.now.duration(to: end), .zero), .timeOver)
    }

    /// Stops the suspend delay, because there is a reason not to suspend the handler.
    func holdSuspension() {
        if case .running(_, .background) = session.machine.state { timers.state.cancel() }
    }

    /// Continues the suspend delay, because a reason not to suspend the handler has ended.
    func allowSuspension() {
        if case .running(_, .background) = session.machine.state { scheduleSuspension() }
    }

    /// Why the handler is not suspended, worded to follow its name; nil if it may be suspended.
    var reasonNotToSuspend: String? {
        if shared.isEnding { return "the router is exiting" }
        if shared.focused == id { return "it has the user's focus" }
        if session.requests.isOpening || process.isBusy { return "it is still opening a URL" }
        if session.requests.isWaking { return "it is still handling a notification, a push or a task" }
        if let mode = backgroundMode { return "its manifest has '\(mode.rawValue)' in UIBackgroundModes" }
        return process.reasonNotToSuspend
    }

    /// The background mode that prevents the suspension; nil if the manifest has none, or if the handler is done with
    /// it in this stay.
    private var backgroundMode: BackgroundMode? {
        process.stay.isModeFinished
            ? nil : session.handler.manifest.backgroundModes.first(where: \.preventsSuspension)
    }

    /// Notes that the handler is done with what its background mode is for, until the end of its stay.
    func finishMode() {
        guard case .running(_, .background) = session.machine.state, backgroundMode != nil else { return }
        process.stay.isModeFinished = true
        startTimer()
        scheduleSuspension()
    }

    /// Asks the handler whether it can be stopped.
    func askToSuspend(_ owner: BusName) async {
        let session = session
        guard let pid = process.running?.pid else { return }
        let lifeline: Lifeline
        do throws(Errno) {
            lifeline = try Lifeline(of: pid)
        } catch {
            shared.log.error("it cannot be suspended: \(error)", metadata: ["handler": "\(id)"])
            return suspendAnswered(false, by: owner)
        }
        process.lifeline = lifeline.routerEnd
        process.suspensionProblem = nil
        do throws(CallError) {
            let isReady = try await shared.bus.suspend(
                id,
                at: owner,
                lifeline: lifeline.handlerEnd,
                timeout: shared.limits.eventTimeout
            )
            guard isReady, !canBeStopped(lifeline, of: owner) else { return suspendAnswered(isReady, by: owner) }
            // By now, the handler has released its name. It takes the name back, as it does after a stop.
            session.handle(.cannotBeStopped(owner: owner))
        } catch .remote(let error) {
            if error.isFromMissingMethod, session.machine.connection == owner { process.isSuspendable = false }
            if error.isFromBus { process.suspensionProblem = "the bus refuses the call: \(error.message)" }
            suspendAnswered(false, by: owner)
        } catch .notSent {
            // A bus that is reached over TCP never passes descriptors.
            noteProblem("the bus passes no descriptors", of: owner)
            suspendAnswered(false, by: owner)
        } catch .unexpectedReply(let error) {
            noteProblem("its answer to \(HandlerInterface.name).Suspend is invalid: \(error)", of: owner)
            // If it meant yes, it has released its name. This makes it take the name back.
            if session.machine.connection == owner { process.resume() }
            suspendAnswered(false, by: owner)
        } catch {
            // Either the process exits next, or the watchdog acts.
            shared.log.debug("\(id) did not say whether it can be suspended: \(error)")
        }
    }

    /// Returns whether the process may be stopped, which means that the kernel will continue it even if the router
    /// exits.
    private func canBeStopped(_ lifeline: Lifeline, of owner: BusName) -> Bool {
        if lifeline.leave() { return !shared.isEnding }
        noteProblem("it has closed or changed the descriptor of \(HandlerInterface.name).Suspend", of: owner)
        return false
    }

    /// Notes why the handler cannot be suspended. It is not asked again.
    private func noteProblem(_ problem: String, of owner: BusName) {
        shared.log.warning("it cannot be suspended: \(problem)", metadata: ["handler": "\(id)"])
        guard session.machine.connection == owner else { return }
        process.isSuspendable = false
        process.suspensionProblem = problem
    }

    private func suspendAnswered(_ isReady: Bool, by owner: BusName) {
        // If the handler is not ready, wait for the whole delay before it is asked again.
        if !isReady { process.stay.suspensionTime = nil }
        session.handle(.suspendAnswered(owner: owner, isReady: isReady))
    }

    // MARK: Tasks

    /// Begins a background task for the handler.
    ///
    /// - Returns: the task's number, and the time that is left, in milliseconds.
    func beginTask(_ name: String) throws(OpenURLError) -> (UInt32, UInt32) {
        guard name.utf8.count <= shared.limits.taskNameBytes else {
            throw OpenURLError(
                .limitsExceeded,
                "the name of a background task has more than \(shared.limits.taskNameBytes) bytes"
            )
        }
        guard process.tasks.count < shared.limits.tasksPerHandler else {
            throw OpenURLError(.limitsExceeded, "\(process.tasks.count) background tasks of \(id) are already open")
        }
        guard timeRemaining > 0 else {
            throw OpenURLError(.limitsExceeded, "the background time of \(id) has run out")
        }
        let task = process.beginTask(name)
        recordTasks()
        if case .running(_, .background) = session.machine.state { timers.state.cancel() }
        countTime()
        return (task, timeRemaining)
    }

    /// Ends a background task or, for `LifecycleInterface.earlierTasks`, all those from an earlier router.
    func endTask(_ task: UInt32) {
        let ended = task == LifecycleInterface.earlierTasks ? process.recordedTasks : [task]
        let count = process.tasks.count
        for task in ended { process.tasks[task] = nil }
        guard process.tasks.count < count else { return }
        recordTasks()
        guard process.tasks.isEmpty else { return }
        countTime()
        if case .running(_, .background) = session.machine.state { scheduleSuspension() }
    }

    /// Records the open tasks for the next router, before the handler relies on them.
    func recordTasks() {
        guard process.isStartedByRouter, let identity = process.identity, process.running != nil else { return }
        shared.launcher.records?.put(process.tasks, of: session.handler.id, identity)
    }

    /// Continues the background tasks that the process began under an earlier router.
    func takeRecordedTasks() {
        guard process.isStartedByRouter, let identity = process.identity else { return process.tasks = [:] }
        process.tasks = shared.launcher.records?.tasks(of: session.handler.id, identity) ?? [:]
        process.recordedTasks = Set(process.tasks.keys)
        countTime()
    }

    // MARK: The tasks' time

    /// Time limit for background tasks; nil for a handler that is never suspended.
    ///
    /// It depends only on what is known before the first stay. Even a handler that lacks some of the contract's methods
    /// has this limit, because a handler that begins a task promises to end it.
    private var timeLimit: Duration? {
        guard process.isStartedByRouter, backgroundMode == nil else { return nil }
        let limit = shared.limits.backgroundTime
        return session.handler.manifest.backgroundTime.map { min($0, limit) } ?? limit
    }

    /// How much time background tasks have left; nil without a limit.
    private var timeLeft: Duration? { process.stay.timeLeft(of: timeLimit, in: session.machine.state, at: .now) }

    /// How much time background tasks have left, in milliseconds; `LifecycleInterface.unlimited` without a limit.
    var timeRemaining: UInt32 {
        timeLeft.map { UInt32(clamping: Int64($0 / .milliseconds(1))) } ?? LifecycleInterface.unlimited
    }

    /// Measures the background time only while a task is open in the background.
    func countTime() {
        let ran = process.stay.isCounting
        process.stay.update(in: session.machine.state, hasTasks: !process.tasks.isEmpty, at: .now)
        if process.stay.isCounting != ran { startTimer() }
    }

    /// Begins a new stay because a URL brings new work to a handler in the background.
    func beginStay() {
        process.stay = BackgroundStay()
        process.stay.update(in: session.machine.state, hasTasks: !process.tasks.isEmpty, at: .now)
        startTimer()
        timers.state.cancel()
        scheduleSuspension()
    }

    /// Stops the stay's timer, because the process is gone or has another connection.
    func stopTimer() {
        timers.background.cancel()
    }

    private func startTimer() {
        guard process.stay.isCounting, let timeLeft else { return stopTimer() }
        if process.stay.isExpiring { return timers.start(timers.background, in: timeLeft, .backgroundTimeIsOver) }
        timers.background.start(in: max(timeLeft - shared.limits.expirationNotice, .zero)) { [self, session] in
            if let owner = session.machine.connection { expireTasks(of: owner) }
        }
    }

    /// Asks the handler to end its tasks, once in each stay.
    private func expireTasks(of owner: BusName) {
        shared.log.notice("its background time has run out", metadata: ["handler": "\(id)"])
        process.stay.isExpiring = true
        timers.start(timers.background, in: shared.limits.expirationNotice, .backgroundTimeIsOver)
        session.startTask { [self] in
            do throws(CallError) {
                try await shared.bus.expireBackgroundTasks(id, at: owner, timeout: shared.limits.eventTimeout)
            } catch {
                shared.log.debug("\(id) has no expiration handlers: \(error)")
            }
        }
    }
}
