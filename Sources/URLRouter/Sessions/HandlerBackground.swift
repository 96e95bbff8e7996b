internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage

/// A handler's session as its background sees it.
protocol BackgroundView: SessionView {
    /// Notes that the owner of the name has launched.
    func finishLaunch(_ owner: BusName)
}

/// The background of one handler: the way there, the stay with its tasks, and the suspension.
///
/// The object belongs to the router's actor.
final class HandlerBackground {
    let id: BusName
    let host: SessionHost
    let timers: HandlerTimers
    private let watchdog: ProgressWatchdog
    unowned let session: any BackgroundView

    init(
        _ id: BusName,
        _ host: SessionHost,
        _ timers: HandlerTimers,
        _ watchdog: ProgressWatchdog,
        _ session: any BackgroundView
    ) {
        self.id = id
        self.host = host
        self.timers = timers
        self.watchdog = watchdog
        self.session = session
    }

    var process: HandlerProcess { session.process }

    /// Tells a handler on its way to the background that it is there.
    func enter(_ owner: BusName) async {
        let session = session
        // A URL may have taken the handler back to the foreground before the handler was told of the background.
        guard session.machine.state == .running(owner: owner, .leaving) else { return }
        let start = SuspendingClock.now
        process.leavingSince = start
        watchdog.startTransition()
        do throws(CallError) {
            try await host.bus.enterBackground(id, at: owner, timeout: host.limits.eventTimeout)
            session.finishLaunch(owner)
        } catch .remote(let error) where error.isFromMissingMethod {
            // The handler does not distinguish the background, so it continues as it is.
            if session.machine.connection == owner { process.isSuspendable = false }
        } catch {
            let reason = host.withoutSecrets("\(error)", of: id)
            host.log.warning("\(id) did not go to the background in order: \(reason)")
        }
        // The handler may have been in the foreground again, and may be on its way to the background for the next time.
        guard process.leavingSince == start else { return }
        process.leavingSince = nil
        session.handle(.reachedBackground(owner: owner))
    }

    // MARK: Suspension

    /// Starts the suspend delay, unless there is a reason not to suspend the handler.
    func scheduleSuspension() {
        let delay = session.handler.manifest.suspendDelay ?? host.limits.suspendDelay
        let end = process.stay.suspensionTime ?? .now + delay
        process.stay.suspensionTime = end
        guard !timers.state.isRunning, reasonNotToSuspend == nil else { return }
        timers.start(timers.state, in: max(SuspendingClock.now.duration(to: end), .zero), .timeOver)
    }

    /// The reason not to suspend the handler, to be read after its name; nil if there is none.
    var reasonNotToSuspend: String? {
        if let mode = backgroundMode { return "its manifest has '\(mode.rawValue)' in UIBackgroundModes" }
        return process.reasonNotToSuspend
    }

    /// The background mode that prevents the suspension; nil if the manifest has none.
    var backgroundMode: BackgroundMode? { session.handler.manifest.backgroundModes.first(where: \.preventsSuspension) }

    /// Asks the handler whether it can be stopped.
    func askToSuspend(_ owner: BusName) async {
        let session = session
        guard let pid = process.running?.pid else { return }
        let lifeline: Lifeline
        do throws(Errno) {
            lifeline = try Lifeline(of: pid)
        } catch {
            host.log.error("it cannot be suspended: \(error)", metadata: ["handler": "\(id)"])
            return suspendAnswered(false, by: owner)
        }
        process.lifeline = lifeline.routerEnd
        process.suspensionProblem = nil
        do throws(CallError) {
            let isReady = try await host.bus.suspend(
                id,
                at: owner,
                lifeline: lifeline.handlerEnd,
                timeout: host.limits.eventTimeout
            )
            guard isReady, !canBeStopped(lifeline, of: owner) else { return suspendAnswered(isReady, by: owner) }
            // The handler has released its name. It takes the name back as it does after a stop.
            session.handle(.cannotBeStopped(owner: owner))
        } catch .remote(let error) {
            if error.isFromMissingMethod, session.machine.connection == owner { process.isSuspendable = false }
            if error.isFromBus { process.suspensionProblem = "the bus refuses the call: \(error.message)" }
            suspendAnswered(false, by: owner)
        } catch .notSent {
            // The bus passes no descriptors, for example over TCP.
            process.suspensionProblem = "the bus passes no descriptors"
            host.log.warning("it cannot be suspended: the bus passes no descriptors", metadata: ["handler": "\(id)"])
            if session.machine.connection == owner { process.isSuspendable = false }
            suspendAnswered(false, by: owner)
        } catch {
            // The process ends next, or the watchdog acts.
            host.log.debug("\(id) did not answer whether it can be stopped: \(error)")
        }
    }

    /// Whether the process may be stopped: the kernel continues it whatever becomes of the router.
    private func canBeStopped(_ lifeline: Lifeline, of owner: BusName) -> Bool {
        if lifeline.leave() { return !host.isEnding }
        let problem = "it has closed or changed the descriptor of \(HandlerInterface.name).Suspend"
        host.log.warning("it cannot be suspended: \(problem)", metadata: ["handler": "\(id)"])
        if session.machine.connection == owner {
            process.isSuspendable = false
            process.suspensionProblem = problem
        }
        return false
    }

    private func suspendAnswered(_ isReady: Bool, by owner: BusName) {
        // A handler that is not ready is asked again after the whole delay.
        if !isReady { process.stay.suspensionTime = nil }
        session.handle(.suspendAnswered(owner: owner, isReady: isReady))
    }
}
