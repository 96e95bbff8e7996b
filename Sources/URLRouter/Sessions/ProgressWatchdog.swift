internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// The part of a handler's session that ``ProgressWatchdog`` uses.
protocol WatchdogView: SessionView {
    var requests: RequestQueue { get }
    /// Time limit for the answer to one URL, if the sender sets none.
    var openTimeout: Duration { get }
    var background: HandlerBackground { get }
    var foregroundCheck: ForegroundCheck { get }
    func deliverWaiting()
}

/// Notices if a delegate method of a running handler does not return.
///
/// Each method on the way to the foreground or to the background may take as long as the transition time limit, and the
/// methods of the launch have their own limit. `open` may use its whole time limit. After that, the handler is still
/// considered healthy if its main actor answers, because a method that waits for something is slow but does not hang.
///
/// This watchdog belongs to the router's actor.
final class ProgressWatchdog {
    private let id: BusName
    private let bus: any HandlerCalls
    private let limits: RouterLimits
    private let log: Logger
    private let timer: RestartableTimer
    private unowned let session: any WatchdogView

    init(_ id: BusName, _ shared: SharedParts, _ session: any WatchdogView) {
        self.id = id
        bus = shared.bus
        limits = shared.limits
        log = shared.log
        timer = RestartableTimer(on: shared.loop)
        self.session = session
    }

    private var process: HandlerProcess { session.process }

    /// Whether the handler has something to answer.
    private var isExpectedToAnswer: Bool { process.transition != nil || hasURLs }

    /// Whether the handler has anything to do other than change its activity.
    private var hasURLs: Bool { !session.requests.inHand.isEmpty || process.isBusy }

    /// How long `open` may take now. A sender may give the handler more time than usual, but not if other senders are
    /// waiting behind it.
    private var openLimit: Duration {
        let usual = session.openTimeout
        guard !process.isBusy, let first = session.requests.firstInHand else { return usual }
        return min(max(usual, first.timeout), limits.eventTimeout)
    }

    /// Returns the time before the first question about progress, which is also the time limit for each answer. A
    /// handler with only one thread answers nothing while a method works, so both times together are the method's time
    /// limit.
    private static func questionTime(_ transitionTimeout: Duration) -> Duration { transitionTimeout / 2 }

    // MARK: The timer

    /// Starts the watchdog if it is not running, because the handler has just received something to answer.
    ///
    /// - Parameter transitionTimeout: the time limit for each method on the way to the foreground or to the background.
    func start(_ transitionTimeout: Duration) {
        if !timer.isRunning { start(in: Self.questionTime(transitionTimeout)) }
    }

    /// Starts the watchdog for a change of activity, whose time begins now.
    func startTransition() { start(in: Self.questionTime(session.machine.transitionTimeout)) }

    /// Stops the watchdog, because there is no process.
    func stop() {
        timer.cancel()
    }

    private func start(in time: Duration) {
        // When a limit has just been reached, don't let the watchdog ask again and again without a pause.
        timer.start(in: max(time, .milliseconds(1))) { [weak self] in self?.checkProgress() }
    }

    private func continueWatch(of owner: BusName, in time: Duration) {
        guard session.machine.owner == owner, isExpectedToAnswer, !timer.isRunning else { return }
        start(in: time)
    }

    // MARK: Progress

    /// Asks the handler for its progress if it has something to answer.
    func checkProgress() {
        guard let owner = session.machine.owner, isExpectedToAnswer else { return }
        // The answer to this question starts the watchdog again.
        timer.cancel()
        session.startTask { await self.checkProgress(of: owner) }
    }

    private func checkProgress(of owner: BusName) async {
        let session = session
        let asked = SuspendingClock.now
        let progress: Result<(String, UInt64), CallError>
        do throws(CallError) {
            let time = Self.questionTime(session.machine.transitionTimeout)
            progress = .success(try await bus.progress(of: id, at: owner, timeout: time))
        } catch {
            progress = .failure(error)
        }
        guard session.machine.owner == owner else { return }
        if case .failure(.timedOut) = progress {} else { process.silentSince = nil }
        // In the meantime, the handler may have answered everything.
        guard isExpectedToAnswer else { return process.silentSince = nil }
        switch progress {
        case .success(let (phase, microseconds)):
            await judge(phase, .microseconds(Int64(clamping: microseconds)), of: owner)
        case .failure(.timedOut) where !hasURLs:
            judgeTransition(of: owner)
        case .failure(.timedOut):
            // A handler with only one thread cannot answer while its `open` works.
            let start = process.silentSince ?? max(asked, process.answeredAt ?? asked)
            process.silentSince = start
            let silence = start.duration(to: .now)
            guard silence >= openLimit else {
                return continueWatch(of: owner, in: .zero)
            }
            hangs(owner, "\(id) has not answered for \(Duration.seconds(silence.components.seconds).inWords)")
        case .failure(let error):
            // Either the handler is written in another language and answers this way, or the process is about to exit.
            log.debug("\(id) did not report its progress: \(error)")
            judgeTransition(of: owner)
        }
    }

    /// Decides whether a handler that does not report its progress hangs in a change of its activity.
    private func judgeTransition(of owner: BusName) {
        let limit = session.machine.transitionTimeout
        guard session.machine.owner == owner, !hasURLs, let transition = process.transition else {
            return continueWatch(of: owner, in: limit)
        }
        let left = limit - transition.since.duration(to: .now)
        if left > .zero { return timer.start(in: left) { [weak self] in self?.judgeTransition(of: owner) } }
        let method = QuotingText(stringLiteral: transition.method.rawValue)
        hangs(owner, "\(method) of \(id) did not return within \(limit.inWords)")
    }

    /// Decides whether a delegate method that has been running for the given time hangs.
    private func judge(_ phase: String, _ time: Duration, of owner: BusName) async {
        let session = session
        let limit: Duration
        let isWaking =
            session.requests.firstInHand?.purpose == .wake && HandlerInterface.wakePhases.contains(phase)
        if HandlerInterface.launchPhases.contains(phase) {
            limit = session.machine.launchTimeout
        } else if phase == HandlerInterface.openPhase || isWaking {
            limit = openLimit
        } else if HandlerInterface.transitionPhases.contains(phase) {
            limit = session.machine.transitionTimeout
        } else {
            return continueWatch(of: owner, in: session.machine.transitionTimeout)
        }
        guard time >= limit || isLaunchOver(in: phase) else { return continueWatch(of: owner, in: limit - time) }
        var reason: QuotingText = "\(QuotingText(stringLiteral: phase)) of \(id) did not return within \(limit.inWords)"
        if HandlerInterface.launchPhases.contains(phase) { reason += " of the launch" }
        // Let the sender know that the handler has acted on the URL.
        if phase == HandlerInterface.activationPhase, session.requests.isOpening {
            reason += " after open had returned"
        }
        guard phase == HandlerInterface.openPhase || isWaking else { return hangs(owner, reason) }
        do throws(CallError) {
            try await bus.check(id, at: owner, timeout: session.machine.transitionTimeout)
            continueWatch(of: owner, in: session.machine.transitionTimeout)
        } catch .timedOut {
            hangs(owner, "\(reason), and its main actor is not responding")
        } catch {
            continueWatch(of: owner, in: session.machine.transitionTimeout)
        }
    }

    /// Returns whether the launch has used up its time, which began with the start of the process.
    private func isLaunchOver(in phase: String) -> Bool {
        HandlerInterface.launchPhases.contains(phase) && process.isOwn && !process.hasAnswered
            && process.launchDeadline.map { $0 <= .now } ?? false
    }

    /// Ends a handler that hangs, unless the router may not kill its process, or a debugger or the user holds it.
    private func hangs(_ owner: BusName, _ reason: QuotingText) {
        guard session.machine.owner == owner, isExpectedToAnswer else { return }
        process.silentSince = nil
        guard process.isRoutersToEnd, !process.isHeld else {
            log.warning("\(reason); its process keeps running", metadata: ["handler": "\(id)"])
            if let transition = process.transition { process.end(transition) }
            return session.handle(.reachedBackground(owner: owner))
        }
        // Handlers take one event after another, so a new process may get the URLs behind the one that hangs. The first
        // of these URLs may have been begun, even if an earlier one has used up its time.
        session.requests.redeliverAllButFirst()
        if hasURLs { session.requests.holdUpWaiting() }
        session.handle(.hangs(owner: owner, reason))
    }

    /// Returns the method that keeps a sender waiting beyond its time limit: the one that the handler reports, or else
    /// the one for which the sender is waiting.
    func unfinishedMethod(for purpose: OpenRequest.Purpose, at owner: BusName) async -> QuotingText {
        let method: QuotingText =
            switch purpose {
            case .open: "open"
            case .activate, .comeBack: "the activation"
            case .wake: "Wake"
            }
        do throws(CallError) {
            let (phase, _) = try await bus.progress(of: id, at: owner, timeout: limits.phaseTime)
            guard HandlerInterface.launchPhases.union(HandlerInterface.transitionPhases).contains(phase) else {
                return method
            }
            // It is a word from the contract, so it contains nothing secret.
            return QuotingText(stringLiteral: phase)
        } catch {
            log.debug("\(id) did not report its progress: \(error)")
            return method
        }
    }

    // MARK: A handler that is busy

    /// Gives the handler no other URL until it has finished all its events so far, because the sender of a request no
    /// longer waits for it.
    ///
    /// - Parameter isLate: whether the time limit of the request has run out.
    func becomesBusy(_ owner: BusName, with request: OpenRequest, isLate: Bool) {
        guard session.machine.owner == owner else { return }
        let wasBusy = process.isBusy
        if isLate { process.isLate = true }
        process.firstUnawaited = min(process.firstUnawaited ?? .max, request.sendNumber)
        if wasBusy { return }
        start(session.machine.transitionTimeout)
        session.startTask { [self] in
            do throws(CallError) {
                // An empty notification is answered only when all earlier events are done.
                try await bus.notify([:], id, at: owner, timeout: limits.eventTimeout)
            } catch {
                log.debug("\(id) did not take notifications: \(error)")
            }
            guard session.machine.connection == owner else { return }
            process.firstUnawaited = nil
            process.isLate = false
            session.background.allowSuspension()
            session.deliverWaiting()
            session.foregroundCheck.check()
        }
    }
}
