internal import DBus
internal import OpenURLBus
internal import Reactor

/// One URL on its way to a handler, or the wish that it shows itself or just runs.
///
/// All of it belongs to the router's actor.
final class OpenRequest {
    /// Requests in the order in which they arrived.
    let number: UInt64
    let purpose: Purpose
    /// When the router accepted it, in microseconds of `TracePhase.now`.
    let accepted = TracePhase.now
    /// When the sender gets an answer at the latest.
    let deadline: ContinuousClock.Instant
    /// The time between the two.
    let timeout: Duration
    /// What the sender's options ask for.
    let options: OpenOptions
    /// What the handler is told; complete when the sender is known.
    var context: OpenContext?
    /// What the sender, a handler, had in hand when it sent this: the reason for it, as far as can be told. Nil once this
    /// request has its answer.
    var cause: OpenRequest?
    /// Whether a process was started for it.
    var causedLaunch = false
    /// Whether a process that was stopped goes on for it.
    var causedWake = false
    /// Whether the handler was in the background when it was handed over.
    var foundInBackground = false
    /// The router's own steps.
    var trace: [TracePhase] = []

    var turn = Turn.waiting
    /// Where somebody wants to know whether a process had it.
    var handover: Handover?
    var timer: TimerID?

    enum Purpose {
        /// The URL as it arrived.
        case open(String)
        case activate
        case wake
    }

    /// Where a URL comes from.
    enum Origin {
        /// Who sent it, as the bus knows the connection; nil on a connection without a bus.
        case caller(BusName?)
        /// It was accepted before, and this is what was found out of its sender.
        case queue(OpenContext, Handover)
    }

    enum Turn {
        /// In the queue, and nobody waits for its turn yet.
        case waiting
        /// In the queue; called when its turn comes, or will not come.
        case suspended(CheckedContinuation<Result<BusName, OpenURLError>, Never>)
        /// Out of the queue: it goes to this connection.
        case granted(BusName)
        /// Out of the queue: it goes nowhere.
        case refused(OpenURLError)
    }

    init(number: UInt64, _ purpose: Purpose, timeout: Duration, options: OpenOptions) {
        self.number = number
        self.purpose = purpose
        self.timeout = timeout
        deadline = .now + timeout
        self.options = options
    }

    /// Decides what becomes of the request, once.
    func resolve(_ result: Result<BusName, OpenURLError>) {
        if case .suspended(let continuation) = turn { continuation.resume(returning: result) }
        switch result {
        case .success(let owner): turn = .granted(owner)
        case .failure(let error): turn = .refused(error)
        }
    }

    func addPhase(_ name: String) {
        trace.append(TracePhase(name, since: accepted))
    }
}

/// Whether a process has been handed a URL, so that it may have acted on it.
///
/// All of it belongs to the router's actor.
final class Handover {
    var isDone = false
}
