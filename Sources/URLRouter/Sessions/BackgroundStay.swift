/// One stay of a handler in the background, and the time that its tasks have.
///
/// A stay ends with the foreground or the suspension. A URL that arrives in the background begins a new stay, because the URL
/// brings new work. A handler has no new work from itself: when it opens a URL of its own, the stay goes on, also through the
/// foreground.
struct BackgroundStay {
    private var time = BackgroundTime()
    /// Whether the handler has been asked in this stay to end its tasks.
    var isExpiring = false
    /// The end of the suspend delay of this stay.
    var suspensionTime: SuspendingClock.Instant?
    /// Whether the handler has brought itself to the foreground out of this stay.
    private var goesOn = false

    /// Whether the time of the tasks runs.
    var isCounting: Bool { time.isRunning }

    /// Notes that a request takes the handler to the foreground.
    ///
    /// - Parameters:
    ///   - isOwn: whether the handler itself has sent the request.
    ///   - state: the state before.
    mutating func foregroundFollows(isOwn: Bool, from state: HandlerStateMachine.State) {
        switch state {
        case .running(_, .foreground): goesOn = goesOn && isOwn
        case .running(_, .background), .running(_, .leaving): goesOn = isOwn
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running(_, .inactive), .suspending, .suspended,
            .waking,
            .ending:
            goesOn = false
        }
    }

    /// Takes a new state, or a change of the tasks, into account.
    mutating func update(in state: HandlerStateMachine.State, hasTasks: Bool, at now: SuspendingClock.Instant) {
        guard state.usesBackgroundTime else {
            if !goesOn { return self = BackgroundStay() }
            suspensionTime = nil
            return time.setRunning(false, at: now)
        }
        goesOn = false
        if time.isRunning != hasTasks { time.setRunning(hasTasks, at: now) }
    }

    /// The time that tasks have left; nil without a limit.
    ///
    /// In the foreground nothing limits them. Before the stay begins it is the time of the whole stay, and an end that has begun
    /// waits for no task.
    ///
    /// - Parameter limit: the time limit of the stay; nil for a handler without a limit.
    func timeLeft(
        of limit: Duration?,
        in state: HandlerStateMachine.State,
        at now: SuspendingClock.Instant
    ) -> Duration? {
        switch state {
        case .running(_, .foreground): nil
        case .ending: .zero
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .suspended, .waking:
            limit.map { time.left(of: $0, at: now) }
        }
    }
}

extension HandlerStateMachine.State {
    /// Whether open tasks use up the background time.
    fileprivate var usesBackgroundTime: Bool {
        switch self {
        case .running(_, .background), .suspending: true
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspended, .waking, .ending: false
        }
    }
}
