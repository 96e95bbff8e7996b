internal import DBus
internal import DequeModule
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// One handler in the router: the machine, the process, and the requests.
///
/// A session belongs to the router's actor, whose executor is the event loop. Its asynchronous methods stay on the actor of
/// their caller, so between an event and its effects there is neither a lock nor a change of threads. An actor for each
/// session would lose the order of arrival.
final class HandlerSession {
    let id: BusName
    let host: SessionHost
    /// The handler as the registry has it now; the process may have been started with an earlier manifest.
    private(set) var handler: Handler
    private(set) var machine: HandlerStateMachine
    var requests = RequestQueue()
    var process = HandlerProcess()
    var crashes = CrashHistory()
    /// The error for the requests that a process had in hand when the router killed it; nil after a crash. It outlives the
    /// process, because the bus tells the end of the process before the end of its requests.
    var verdict: OpenURLError?

    /// The watchdog of a launch.
    let launchTimer: RestartableTimer
    /// The watchdog of the process's end.
    let endTimer: RestartableTimer
    /// Ends the machine's state, if the state has a time limit.
    let stateTimer: RestartableTimer
    /// Ends the time in the background while a task is open.
    let expiryTimer: RestartableTimer

    /// The watch of the name's owner, from the first question on.
    var nameWatch: NameWatchID?
    /// The number of owner changes. A task that asked the bus for the owner learns from it that its answer may be stale.
    var ownerChanges = 0
    private var lastNumber: UInt64 = 0
    /// The events that the machine has not seen yet.
    private var events: Deque<HandlerStateMachine.Event> = []
    private var isHandlingEvents = false
    /// The state that was announced last.
    private var announced = HandlerState.notRunning
    /// The tasks that wait for the machine to reach a state.
    private var waiters:
        [(isReached: (HandlerStateMachine.State) -> Bool, continuation: CheckedContinuation<Void, Never>)] =
            []

    init(_ handler: Handler, _ id: BusName, _ host: SessionHost) {
        self.handler = handler
        self.id = id
        self.host = host
        machine = HandlerStateMachine(
            id: id.rawValue,
            launchTimeout: host.limits.launchTimeout,
            phaseTimeout: host.limits.phaseTimeout
        )
        launchTimer = RestartableTimer(on: host.loop)
        endTimer = RestartableTimer(on: host.loop)
        stateTimer = RestartableTimer(on: host.loop)
        expiryTimer = RestartableTimer(on: host.loop)
        use(handler)
    }

    /// Uses a manifest from now on; a running process continues as it was started.
    func use(_ handler: Handler) {
        self.handler = handler
        machine.launchTimeout = handler.manifest.launchTimeout ?? host.limits.launchTimeout
        machine.exitsOnSuspend = handler.manifest.exitsOnSuspend
    }

    /// The connection that gets the handler's URLs now.
    var owner: BusName? { machine.owner }

    /// The state as callers see it.
    var state: HandlerState {
        switch machine.state {
        case .notRunning, .lookingForOwner, .lostProcess: .notRunning
        case .starting, .ending, .running(_, .inactive), .running(_, .leaving): .inactive
        case .running(_, .foreground): .active
        case .running(_, .background), .suspending: .background
        case .suspended, .waking: .suspended
        }
    }

    /// A new request, which is not in the queue yet.
    func makeRequest(_ purpose: OpenRequest.Purpose, _ options: OpenOptions = OpenOptions()) -> OpenRequest {
        lastNumber += 1
        let timeout = options.timeout ?? handler.manifest.openTimeout ?? host.limits.openTimeout
        return OpenRequest(number: lastNumber, purpose, timeout: timeout, options: options)
    }

    // MARK: Events

    /// Tells the machine what has happened, and performs the effects.
    ///
    /// An effect may cause another event. The new event waits until the effects of the current one are done, so no effect acts
    /// on a state that is already over.
    func handle(_ event: HandlerStateMachine.Event) {
        events.append(event)
        guard !isHandlingEvents else { return }
        isHandlingEvents = true
        defer { isHandlingEvents = false }
        while let event = events.popFirst() {
            let before = machine.state
            let effects = machine.on(event, hasProcess: process.running != nil)
            // The timer was for the state that is over.
            if machine.state != before { stateTimer.cancel() }
            for effect in effects { perform(effect) }
            if machine.state != before { stateChanged() }
        }
        // A launch that fails at once passes through a state that no caller needs to know.
        if state != announced {
            announced = state
            host.bus.announce(state, of: id)
        }
    }

    private func stateChanged() {
        if owner == nil, host.foreground === self { host.foreground = nil }
        let reached = waiters.filter { $0.isReached(machine.state) }
        guard !reached.isEmpty else { return }
        waiters.removeAll { $0.isReached(machine.state) }
        for waiter in reached { waiter.continuation.resume() }
    }

    /// Returns when the machine is in a state that fits.
    func wait(until isReached: @escaping (HandlerStateMachine.State) -> Bool) async {
        await withCheckedContinuation { continuation in
            if isReached(machine.state) { return continuation.resume() }
            waiters.append((isReached, continuation))
        }
    }
}
