/// A handler's stay in the background, and the time that its tasks have.
///
/// It ends when the handler comes to the foreground or is suspended. A URL that arrives in the background brings new
/// work, and so begins a new stay. A handler cannot give itself new work: if it opens its own URL, the stay continues,
/// even if the handler comes to the foreground in between.
struct BackgroundStay {
    private var time = BackgroundTime()
    /// Whether the handler has been asked to end its tasks during this stay.
    var isExpiring = false
    /// Whether the handler is done with what its background mode is for.
    var isModeFinished = false
    /// When this stay's suspend delay ends.
    var suspensionTime: SuspendingClock.Instant?
    /// Whether the handler has brought itself to the foreground during this stay.
    private var goesOn = false

    /// Whether the tasks are using up their time.
    var isCounting: Bool { time.isRunning }

    /// Notes that a request brings the handler to the foreground.
    ///
    /// - Parameters:
    ///   - isOwn: whether the handler itself has sent the request.
    ///   - state: the state before.
    mutating func foregroundFollows(isOwn: Bool, from state: HandlerStateMachine.State) {
        switch state {
        case .running(_, .foreground), .running(_, .interrupted): goesOn = goesOn && isOwn
        case .running(_, .background), .running(_, .leaving): goesOn = isOwn
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running(_, .inactive), .suspending, .suspended,
            .waking,
            .ending:
            goesOn = false
        }
    }

    /// Adapts to a new state, or to a change in the tasks.
    mutating func update(in state: HandlerStateMachine.State, hasTasks: Bool, at now: SuspendingClock.Instant) {
        guard state.usesBackgroundTime else {
            if !goesOn { return self = BackgroundStay() }
            suspensionTime = nil
            return time.setRunning(false, at: now)
        }
        goesOn = false
        if time.isRunning != hasTasks { time.setRunning(hasTasks, at: now) }
    }

    /// Returns the time that tasks have left; nil without a limit.
    ///
    /// In the foreground, nothing limits them. Before the stay begins, they have all of its time. Once the handler has
    /// begun to exit, it waits for no task.
    ///
    /// - Parameter limit: the stay's time limit; nil for a handler without a limit.
    func timeLeft(
        of limit: Duration?,
        in state: HandlerStateMachine.State,
        at now: SuspendingClock.Instant
    ) -> Duration? {
        switch state {
        case .running(_, .foreground), .running(_, .interrupted): nil
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
