internal import DBus
internal import OpenURLBus
internal import Reactor

/// One URL on its way to a handler, or a request to show or start the handler.
///
/// A request belongs to the router's actor.
final class OpenRequest {
    /// The request's place in the order of arrival at its handler.
    let number: UInt64
    let purpose: Purpose
    /// The time at which the router accepted the request, in microseconds of `TracePhase.now`.
    let accepted = TracePhase.now
    /// The latest time of the sender's answer.
    let deadline: ContinuousClock.Instant
    /// The time between the two.
    let timeout: Duration
    /// The sender's options.
    let options: OpenOptions
    /// The context that the handler is told; nil until the sender is known.
    private(set) var context: OpenContext?
    /// The request that the sending handler had in hand, which is the likely reason for this request. Nil for other senders,
    /// and once this request has its answer.
    var cause: OpenRequest?
    /// The callbacks that the sender has asked for.
    var asked: AskedCallbacks?
    /// The process that asks for the open; nil if the URL comes from the queue, or if the process is not known.
    var caller: UInt32?
    /// Whether the router started a process for this request.
    var causedLaunch = false
    /// Whether a stopped process was woken for this request.
    var causedWake = false
    /// Whether the handler was in the background when it got the request.
    var foundInBackground = false
    /// The router's own steps.
    private(set) var trace: [TracePhase] = []

    /// The application that the request is counted to.
    var account: String
    /// Whether the request is counted in the handler's queue.
    var isCounted = false
    var turn = Turn.waiting
    /// Whether the request was granted as one of many of its application, and has no answer.
    var isOneOfMany = false
    /// Whether a process has got the URL, so that the process may have acted on it.
    var wasHandedOver = false
    /// Whether the process that had the request ended before it began the request.
    var isUnbegun = false
    var timer: TimerID?

    /// The name of the request, which the handler is told; nil for a request without a URL.
    var id: String?
    /// The caller's way to cancel the request; nil if the caller has none.
    var stop: Stop?
    /// Whether the caller has set the deadline, after which it has no use for the handler's work.
    var endsAtDeadline = false
    /// Whether the caller has cancelled the request.
    var isCancelled: Bool { stop?.isRequested == true }
    /// The handler's reports to the caller; nil before the first.
    var reports: PassedReports?
    /// Ends the wait for a handler that does not answer a cancelled request.
    var cancelTimer: TimerID?
    /// The request as others see it; nil if nobody looks.
    var observed: Observation?

    enum Purpose {
        case open(Destination)
        case activate
        case wake
    }

    enum Turn {
        /// The request is in the queue, and its task does not wait for its turn yet.
        case waiting
        /// The request is in the queue; its task continues when the turn comes, or will not come.
        case suspended(CheckedContinuation<Result<BusName, OpenURLError>, Never>)
        /// The request has left the queue and goes to this connection.
        case granted(BusName)
        /// The request has left the queue and goes nowhere.
        case refused(OpenURLError)
    }

    init(number: UInt64, _ purpose: Purpose, timeout: Duration, options: OpenOptions, account: String) {
        self.number = number
        self.purpose = purpose
        self.timeout = timeout
        self.account = account
        deadline = .now + timeout
        self.options = options
    }

    /// Completes the context with the sender's options, so that the request may be delivered.
    func complete(_ context: consuming OpenContext) {
        context.annotation = options.annotation
        context.activationToken = options.activationToken
        context.desktopStartupID = options.desktopStartupID
        context.accepted = accepted
        context.requestID = id
        context.traceParent = options.traceParent
        self.context = context
    }

    /// Decides what becomes of the request, once.
    func resolve(_ result: Result<BusName, OpenURLError>) {
        if case .suspended(let continuation) = turn { continuation.resume(returning: result) }
        switch result {
        case .success(let owner): turn = .granted(owner)
        case .failure(let error): turn = .refused(error)
        }
    }

    /// Adds a step that every open has, if the caller wants to see such steps.
    func addRouterPhase(_ name: String) {
        if options.includesRouterSteps { addPhase(name) }
    }

    func addPhase(_ name: String) {
        let phase = TracePhase(name, since: accepted)
        trace.append(phase)
        observed?.reach(phase)
    }
}
