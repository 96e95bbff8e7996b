internal import DBus
internal import DequeModule
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// One handler in the router: its machine, its requests, and the parts that act on its process.
///
/// It reports events to the machine, performs the effects, and sees each request through to its outcome. Its parts do
/// the rest, and see only those members of the session that are in their view protocols.
///
/// Sessions belong to the router's actor, whose executor is the event loop. Because their asynchronous methods stay on
/// their caller's actor, there is neither a lock nor a switch of threads between an event and its effects. If each
/// session were an actor, the order of arrival would be lost.
final class HandlerSession {
    let id: BusName
    /// The path of the handler's object.
    let path: ObjectPath
    let shared: SharedParts
    /// The handler as it is registered now. Its process may have been started with an earlier manifest.
    private(set) var handler: Handler
    private(set) var machine: HandlerStateMachine
    var requests: RequestQueue

    /// Counts the handler's crashes.
    let quarantine: Quarantine
    /// Timers that cause an event when they expire.
    private(set) lazy var timers = HandlerTimers(on: shared.loop, self)
    /// Watches whether the delegate's methods return.
    private(set) lazy var watchdog = ProgressWatchdog(id, shared, self)
    private(set) lazy var background = HandlerBackground(id, shared, timers, watchdog, self)
    private(set) lazy var processes = HandlerProcesses(id, shared, quarantine, background, self)
    private(set) lazy var launch = HandlerLaunch(id, shared, quarantine, timers, processes, self)
    /// Ends a process that runs an earlier program.
    private(set) lazy var replacement = ProcessReplacement(id, shared, self)
    private(set) lazy var activity = HandlerActivity(id, shared, watchdog, processes, self)
    private(set) lazy var notifications = HandlerNotifications(id, shared, self)
    /// Takes the handler to the background if the requests that would have brought it to the foreground were withdrawn.
    private(set) lazy var foregroundCheck = ForegroundCheck(processes, self)
    /// Turns answers and failures into results and errors for the senders.
    private(set) lazy var outcomes = RequestOutcomes(id, shared, watchdog, processes, foregroundCheck, self)

    /// Events that the machine has not seen yet.
    private var events: Deque<HandlerStateMachine.Event> = []
    private var isHandlingEvents = false
    /// The last state that was announced.
    private var announced = HandlerState.notRunning
    /// Tasks that wait for the machine to reach a state.
    private var waiters: [StateWaiter] = []

    init(_ handler: Handler, _ id: BusName, _ shared: SharedParts) {
        self.handler = handler
        self.id = id
        path = HandlerInterface.object(of: id)
        self.shared = shared
        quarantine = Quarantine(id, shared)
        requests = RequestQueue(shared.limits)
        machine = HandlerStateMachine(
            id: id.rawValue,
            launchTimeout: shared.limits.launchTimeout,
            transitionTimeout: shared.limits.transitionTimeout
        )
        use(handler)
    }

    /// Uses the given handler's manifest from now on. A running process continues as it was started.
    ///
    /// If the manifest has changed, the handler's crashes are forgotten.
    func use(_ handler: Handler) {
        if !quarantine.isEmpty, handler.manifest != self.handler.manifest || handler.program != self.handler.program {
            quarantine.forgetCrashes()
        }
        self.handler = handler
        machine.launchTimeout = handler.launchTimeout ?? shared.limits.launchTimeout
        machine.transitionTimeout = handler.transitionTimeout ?? shared.limits.transitionTimeout
    }

    /// Time limit for the answer to one URL, if the sender sets none.
    var openTimeout: Duration { handler.openTimeout ?? shared.limits.openTimeout }

    /// The connection that currently gets the handler's URLs.
    var owner: BusName? { machine.owner }

    /// The process that the handler has, or is about to have.
    var process: HandlerProcess { processes.current }

    var isRunning: Bool { process.running != nil || machine.connection != nil }

    var isInForeground: Bool { shared.foreground.contains(id) }

    /// The state as callers see it.
    var state: HandlerState {
        switch machine.state {
        case .notRunning, .lookingForOwner, .lostProcess: .notRunning
        case .ending where process.running == nil: .notRunning
        case .starting, .ending, .running(_, .inactive), .running(_, .interrupted), .running(_, .leaving): .inactive
        case .running(_, .foreground): .active
        case .running(_, .background), .suspending: .background
        case .suspended, .waking: .suspended
        }
    }

    // MARK: Events

    /// Reports to the machine what has happened, and performs the effects.
    ///
    /// If an effect causes another event, the new event waits until all effects of the current one are done. So no
    /// effect acts on a state that has already ended.
    func handle(_ event: HandlerStateMachine.Event) {
        events.append(event)
        handleEvents()
    }

    /// Handles the events that are waiting.
    func handleEvents() {
        guard !isHandlingEvents, !processes.startGate.isClosed else { return }
        isHandlingEvents = true
        defer { isHandlingEvents = false }
        while !processes.startGate.isClosed, let event = events.popFirst() {
            let (before, wasWoken) = (machine.state, machine.woken)
            // If another program owns the name, the router must not end its process.
            machine.exitsOnSuspend = handler.exitsOnSuspend && process.isRoutersToEnd
            if case .suspended(let owner) = before { machine.getsURLsBeforeName = shared.bus.isAttached(owner) }
            let effects = machine.on(event, hasProcess: process.running != nil)
            // This timer belonged to the previous state.
            if machine.state != before { timers.state.cancel() }
            if machine.woken != wasWoken { timers.name.cancel() }
            for effect in effects { perform(effect) }
            if machine.state != before || machine.woken != wasWoken { stateChanged(from: before) }
        }
        // If a launch fails immediately, callers need not know about the state in between.
        if state != announced, !processes.startGate.isClosed {
            announced = state
            shared.signals.announce(state, of: id)
        }
    }

    func startTask(_ body: @escaping () async -> Void) {
        shared.tasks.start {
            await body()
            withExtendedLifetime(self) {}
        }
    }

    /// Notes that the name's owner has launched.
    func finishLaunch(_ owner: BusName) {
        guard self.owner == owner else { return }
        process.hasAnswered = true
        timers.launch.cancel()
        shared.launches.ended(id)
    }

    /// Removes the secrets of the handler's latest URLs from a string that it has written.
    func withoutSecrets(_ text: QuotingText) -> QuotingText { shared.withoutSecrets(text, of: id) }

    private func stateChanged(from before: HandlerStateMachine.State) {
        if machine.state.isInForeground {
            shared.foreground.insert(id)
        } else {
            shared.foreground.remove(id)
        }
        if state == .notRunning { shared.launches.ended(id) }
        if machine.state.isInForeground || before.isInForeground { shared.foregroundChanged(id) }
        if machine.state.hasHandler != before.hasHandler { shared.runningChanged(id) }
        background.countTime()
        weighProcess()
        // If a request has woken the handler, that request delivers the notifications.
        if let owner, !process.notifications.isEmpty, requests.isEmpty, machine.woken == nil {
            shared.tasks.start { await self.notifications.send(to: owner) }
        }
        let reached = waiters.filter { $0.isReached(machine.state) }
        guard !reached.isEmpty else { return }
        waiters.removeAll { $0.isReached(machine.state) }
        for waiter in reached { waiter.end(true) }
    }

    /// Gives the process the weight of its state, if it has another one. A suspended process keeps the weight of the
    /// background, where it continues.
    private func weighProcess() {
        guard let running = process.running, let services = shared.launcher.services else { return }
        let weight: ProcessWeight
        switch state {
        case .active: weight = .foreground
        case .background: weight = .background
        case .notRunning, .inactive, .suspended: return
        }
        guard weight != process.weight else { return }
        process.weight = weight
        shared.tasks.start { await services.weigh(running.pid, weight) }
    }

    /// Waits until the machine reaches a matching state; returns false if that takes longer than `time`.
    func wait(
        for time: Duration,
        until isReached: @escaping (HandlerStateMachine.State) -> Bool
    ) async -> Bool {
        await withCheckedContinuation { continuation in
            if isReached(machine.state) { return continuation.resume(returning: true) }
            let waiter = StateWaiter(isReached, continuation, RestartableTimer(on: shared.loop))
            waiters.append(waiter)
            waiter.timer.start(in: time) {
                self.waiters.removeAll { $0 === waiter }
                waiter.end(false)
            }
        }
    }
}

extension HandlerStateMachine.State {
    /// Whether the handler is in the foreground, active or interrupted.
    var isInForeground: Bool {
        switch self {
        case .running(_, .foreground), .running(_, .interrupted): true
        case .running(_, .inactive), .running(_, .leaving), .running(_, .background): false
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .suspending, .suspended, .waking, .ending: false
        }
    }

    /// Whether the handler runs or is suspended, so that it can be notified.
    var hasHandler: Bool {
        switch self {
        case .running, .suspending, .suspended, .waking: true
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .ending: false
        }
    }

    /// Whether the handler is inactive because of an interruption.
    var isInterrupted: Bool { if case .running(_, .interrupted) = self { true } else { false } }
}

extension HandlerSession: WatchdogView, BackgroundView, ProcessesView, LaunchView, ReplacementView {}
extension HandlerSession: ForegroundView, NotificationsView, OutcomesView {}

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
