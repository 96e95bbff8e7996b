internal import DBus
internal import DequeModule
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// What the router knows of one handler: its machine, its process, and the URLs that wait for it.
///
/// All of it belongs to the router's actor.
final class HandlerSession {
    let id: BusName
    /// The handler as the registry has it now, whatever the process was started with.
    var handler: Handler
    var machine: HandlerMachine
    /// What waits, in order of arrival.
    var waiting: Deque<OpenRequest> = []
    /// How many have had their turn while they waited, and have not gone on yet.
    var onTheirWay = 0
    /// What the process has in hand, by request number.
    var inHand: [UInt64: OpenRequest] = [:]

    var process: ProcessHandle?
    /// When the process was first seen, in seconds since 1970.
    var since: UInt64?
    var launchTimer: TimerID?
    var endTimer: TimerID?
    /// Ends the state that the machine is in, where it may last for so long only.
    var stateTimer: TimerID?
    /// Ends the time in the background, where a task is open.
    var expiryTimer: TimerID?
    /// When the time in the background is over; nil in the foreground.
    var backgroundDeadline: ContinuousClock.Instant?
    /// The background tasks that are open, by their numbers, and the last number.
    var tasks: [UInt32: String] = [:]
    var lastTask: UInt32 = 0
    /// Whether the handler knows how to get ready to be stopped, as far as it has not said otherwise.
    var isSuspendable = true
    /// What has changed since the process was stopped, the latest value of each kind.
    var notifications: [String: Value] = [:]
    var crashes = CrashHistory()
    /// Whether the router has ended the process, or has asked it to end.
    var isEnded = false
    /// The state that was announced last.
    var announced = HandlerState.notRunning
    /// Those who wait for the machine to reach a state.
    var waiters: [(isReached: (HandlerMachine.State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    /// What the requests in hand get when the process ends, where that is not a crash.
    var verdict: OpenURLError?
    var isNameWatched = false
    /// How often the name has changed its owner, for those who asked the bus for it meanwhile.
    var ownerChanges = 0
    /// Whether the owner has answered once, and so has launched.
    var hasAnswered = false
    /// Whether the process is the manifest's program, and so may speak for the handler.
    var isVerified = false

    init(_ handler: Handler, _ id: BusName, _ limits: URLRouter.Limits) {
        self.handler = handler
        self.id = id
        machine = HandlerMachine(
            id: id.rawValue,
            launchTimeout: limits.launchTimeout,
            phaseTimeout: limits.phaseTimeout
        )
    }

    /// Where its URLs go now.
    var owner: BusName? { machine.owner }

    /// Puts a request into the queue at its place, which is the end unless it has been in the queue before.
    func enqueue(_ request: OpenRequest) {
        request.turn = .waiting
        let index = waiting.firstIndex { $0.number > request.number } ?? waiting.endIndex
        waiting.insert(request, at: index)
    }

    /// Whether a request follows from one that the handler has in hand. As a handler opens one URL after the other, they
    /// could wait for each other for ever.
    func closesCircle(_ request: OpenRequest) -> Bool {
        var cause = request.cause
        while let link = cause {
            if inHand[link.number] === link { return true }
            cause = link.cause
        }
        return false
    }

    /// Takes a request out of the queue.
    func remove(_ request: OpenRequest) {
        waiting.removeAll { $0 === request }
    }
}
