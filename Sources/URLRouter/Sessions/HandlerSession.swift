internal import DBus
internal import DequeModule
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// One handler in the router: its machine, its requests, and the parts that act on its process.
///
/// The session reports events to the machine, performs the effects, and takes each request to its outcome. Its parts do the rest, and
/// see the session only as their view of it.
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
    var requests: RequestQueue

    /// The crashes of the handler.
    let quarantine: Quarantine
    /// The time limits that end in an event.
    private(set) lazy var timers = HandlerTimers(on: host.loop, self)
    /// The watchdog of the delegate's methods.
    private(set) lazy var watchdog = ProgressWatchdog(id, host, self)
    private(set) lazy var background = HandlerBackground(id, host, timers, watchdog, self)
    private(set) lazy var processes = HandlerProcesses(id, host, quarantine, background, self)
    private(set) lazy var launch = HandlerLaunch(id, host, quarantine, timers, processes, self)

    /// The events that the machine has not seen yet.
    private var events: Deque<HandlerStateMachine.Event> = []
    private var isHandlingEvents = false
    /// The state that was announced last.
    private var announced = HandlerState.notRunning
    /// The tasks that wait for the machine to reach a state.
    private var waiters: [StateWaiter] = []

    init(_ handler: Handler, _ id: BusName, _ host: SessionHost) {
        self.handler = handler
        self.id = id
        self.host = host
        quarantine = Quarantine(id, host)
        requests = RequestQueue(host.limits)
        machine = HandlerStateMachine(
            id: id.rawValue,
            launchTimeout: host.limits.launchTimeout,
            transitionTimeout: host.limits.transitionTimeout
        )
        use(handler)
    }

    /// Uses a manifest from now on; a running process continues as it was started.
    ///
    /// The crashes of the handler are forgotten if the manifest has changed.
    func use(_ handler: Handler) {
        if !quarantine.isEmpty, handler.manifest != self.handler.manifest || handler.program != self.handler.program {
            quarantine.forgetCrashes()
        }
        self.handler = handler
        machine.launchTimeout = handler.launchTimeout ?? host.limits.launchTimeout
        machine.transitionTimeout = handler.transitionTimeout ?? host.limits.transitionTimeout
    }

    /// The time limit for the answer to one URL, if the sender sets none.
    var openTimeout: Duration { handler.openTimeout ?? host.limits.openTimeout }

    /// The connection that gets the handler's URLs now.
    var owner: BusName? { machine.owner }

    /// The process that the handler has, or is about to have.
    var process: HandlerProcess { processes.current }

    /// Whether the handler has a process.
    var isRunning: Bool { process.running != nil || machine.connection != nil }

    /// Whether the handler is in the foreground.
    var isInForeground: Bool { host.foreground.contains(id) }

    /// The state as callers see it.
    var state: HandlerState {
        switch machine.state {
        case .notRunning, .lookingForOwner, .lostProcess: .notRunning
        case .ending where process.running == nil: .notRunning
        case .starting, .ending, .running(_, .inactive), .running(_, .leaving): .inactive
        case .running(_, .foreground): .active
        case .running(_, .background), .suspending: .background
        case .suspended, .waking: .suspended
        }
    }

    // MARK: Events

    /// Tells the machine what has happened, and performs the effects.
    ///
    /// An effect may cause another event. The new event waits until the effects of the current one are done, so no effect acts
    /// on a state that is already over.
    func handle(_ event: HandlerStateMachine.Event) {
        events.append(event)
        handleEvents()
    }

    /// Takes the events into account that wait.
    func handleEvents() {
        guard !isHandlingEvents, !processes.startGate.isClosed else { return }
        isHandlingEvents = true
        defer { isHandlingEvents = false }
        while !processes.startGate.isClosed, let event = events.popFirst() {
            let (before, wasWoken) = (machine.state, machine.woken)
            // A stranger that has the name is not the router's to end.
            machine.exitsOnSuspend = handler.exitsOnSuspend && process.isRoutersToEnd
            if case .suspended(let owner) = before { machine.getsURLsBeforeName = host.bus.isAttached(owner) }
            let effects = machine.on(event, hasProcess: process.running != nil)
            // The timer was for the state that is over.
            if machine.state != before { timers.state.cancel() }
            if machine.woken != wasWoken { timers.name.cancel() }
            for effect in effects { perform(effect) }
            if machine.state != before || machine.woken != wasWoken { stateChanged() }
        }
        // A launch that fails at once passes through a state that no caller needs to know.
        if state != announced, !processes.startGate.isClosed {
            announced = state
            host.bus.announce(state, of: id)
        }
    }

    func startTask(_ body: @escaping () async -> Void) {
        host.tasks.start {
            await body()
            withExtendedLifetime(self) {}
        }
    }

    /// Notes that the owner of the name has launched.
    func finishLaunch(_ owner: BusName) {
        guard self.owner == owner else { return }
        process.hasAnswered = true
        timers.launch.cancel()
    }

    /// Returns a text that the handler has written, without the secrets of its latest URLs.
    func withoutSecrets(_ text: QuotingText) -> QuotingText { host.withoutSecrets(text, of: id) }

    private func stateChanged() {
        if case .running(_, .foreground) = machine.state {
            host.foreground.insert(id)
        } else {
            host.foreground.remove(id)
        }
        background.countTime()
        // The request that has woken the handler takes them with it.
        if let owner, !process.notifications.isEmpty, requests.isEmpty, machine.woken == nil {
            host.tasks.start { await self.sendNotifications(owner) }
        }
        let reached = waiters.filter { $0.isReached(machine.state) }
        guard !reached.isEmpty else { return }
        waiters.removeAll { $0.isReached(machine.state) }
        for waiter in reached { waiter.end(true) }
    }

    /// Returns whether the machine reaches a state that fits within the time.
    func wait(
        for time: Duration,
        until isReached: @escaping (HandlerStateMachine.State) -> Bool
    ) async -> Bool {
        await withCheckedContinuation { continuation in
            if isReached(machine.state) { return continuation.resume(returning: true) }
            let waiter = StateWaiter(isReached, continuation, RestartableTimer(on: host.loop))
            waiters.append(waiter)
            waiter.timer.start(in: time) {
                self.waiters.removeAll { $0 === waiter }
                waiter.end(false)
            }
        }
    }
}

extension HandlerSession: WatchdogView, BackgroundView, ProcessesView, LaunchView {}

/// A task that waits for the machine to reach a state.
private final class StateWaiter {
    let isReached: (HandlerStateMachine.State) -> Bool
    let timer: RestartableTimer
    private let continuation: CheckedContinuation<Bool, Never>

    init(
        _ isReached: @escaping (HandlerStateMachine.State) -> Bool,
        _ continuation: CheckedContinuation<Bool, Never>,
        _ timer: RestartableTimer
    ) {
        self.isReached = isReached
        self.continuation = continuation
        self.timer = timer
    }

    func end(_ isReached: Bool) {
        timer.cancel()
        continuation.resume(returning: isReached)
    }
}
