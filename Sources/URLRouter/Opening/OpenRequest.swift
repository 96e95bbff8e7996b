internal import DBus
internal import Desktop
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// One URL on its way through the router, or a request to show or start a handler.
///
/// The stages of the way (`Opener.open`) fill the request in. It belongs to the router's actor.
final class OpenRequest {
    let purpose: Purpose
    let start: Start
    /// The URL that is tried: the one that the sender wants, or one of the fallbacks.
    private(set) var url: String
    /// The sender's options.
    var options: OpenOptions
    /// The name of the request, which the handler is told; nil for a request without a URL.
    var id: String?
    /// The caller's way to cancel the request; nil if the caller has none.
    let stop: Stop?
    /// The handler in whose inbox the router has put the file that the URL names; nil for any other URL.
    let inbox: String?
    /// The call that waits for the handler's answer; nil if the sender does not call.
    let waiting: WaitingCall?
    /// The request as others see it; nil if nobody looks.
    var observed: Observation?
    /// The resources that the router holds for the request until the answer.
    var load: RequestLoad
    /// The application that the request is counted to.
    var account: String {
        get { load.account }
        set { load.account = newValue }
    }

    // MARK: The stages

    /// The URL as it was understood, and its claimant; nil until they are found.
    var destination: Destination?
    /// The place of the request now; nil between the places.
    var place: Place?
    /// The sender; nil until it is known.
    var sender: Caller?
    /// The handler or application for which a person has allowed the URL.
    var allowed: String?
    /// The number of fallbacks that were tried.
    private var fallbacks = 0
    /// The reason for which the URL that the sender wants was not opened.
    private var noHandler: OpenURLError?
    /// The context that the handler is told.
    var context = OpenContext()
    /// The request that the sending handler had in hand, which is the likely reason for this request. Nil for other senders,
    /// and once this request has its answer.
    var cause: OpenRequest?
    /// The callbacks that the sender has asked for.
    var asked: AskedCallbacks?
    /// The process that asks for the open; nil if the URL comes from the queue, or if the process is not known.
    var caller: UInt32? { sender?.pid }

    // MARK: The place

    /// The request's place in the order of arrival at its handler.
    private(set) var number: UInt64 = 0
    /// The time at which the request got its place, in microseconds of `TracePhase.now`.
    private(set) var accepted: UInt64 = 0
    /// The latest time of the sender's answer.
    private(set) var deadline = ContinuousClock.now
    /// The time between the two.
    private(set) var timeout = Duration.zero
    /// The router's own steps.
    private(set) var trace: [TracePhase] = []
    /// Whether the router started a process for this request.
    var causedLaunch = false
    /// Whether a stopped process was woken for this request.
    var causedWake = false
    /// Whether the handler was in the background when it got the request.
    var foundInBackground = false
    /// Whether the request may go to its handler as soon as its turn comes.
    private(set) var isComplete = false
    /// Whether the request is counted in the handler's queue.
    var isCounted = false
    var turn = Turn.waiting
    /// Whether the request was granted as one of many of its application, and has no answer.
    var isOneOfMany = false
    /// Whether a process has got the URL, so that the process may have acted on it, or the URL is stored for later.
    var wasHandedOver = false
    /// Whether the process that had the request ended before it began the request.
    var isUnbegun = false
    var timer: TimerID?
    /// The handler's reports to the caller; nil before the first.
    var reports: PassedReports?
    /// Ends the wait for a handler that does not answer a cancelled request.
    var cancelTimer: TimerID?

    enum Purpose {
        case open
        case activate
        case wake
    }

    /// The beginning of a request's way.
    enum Start {
        /// A call of a connection; nil without a bus.
        case caller(BusName?)
        /// An attempt of the queue.
        case queue(Delivery, id: String)
        /// A callback that the router opens for the handler that has answered.
        case callback(AskedCallbacks)
        /// The router itself.
        case router
    }

    /// A place in which a request can be cancelled.
    enum Place {
        case queue(of: HandlerSession)
        case arrivals(ArrivalOrder.Place)
        case question(Questions.Place)
        case application
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

    /// Creates a request for a URL.
    ///
    /// - Parameter bytes: the size of the call's arguments, which is counted to the caller's application; nil for the URL alone.
    init(
        _ url: String,
        _ options: OpenOptions,
        from start: Start,
        named id: String,
        bytes: Int? = nil,
        stop: Stop? = nil,
        inbox: String? = nil,
        waiting: WaitingCall? = nil,
        observed: Observation?
    ) {
        purpose = .open
        self.start = start
        self.url = url
        self.options = options
        self.id = id
        self.stop = stop
        self.inbox = inbox
        self.waiting = waiting
        self.observed = observed
        allowed = inbox
        load = RequestLoad(bytes: bytes ?? url.utf8.count, descriptors: options.annotation?.descriptorCount ?? 0)
    }

    /// Creates a request without a URL.
    init(_ purpose: Purpose, _ options: OpenOptions = OpenOptions(), observed: Observation?) {
        self.purpose = purpose
        start = .router
        url = ""
        self.options = options
        self.observed = observed
        (stop, inbox, waiting) = (nil, nil, nil)
        load = RequestLoad(bytes: 0, descriptors: 0)
        isComplete = purpose == .wake
    }

    /// Whether the caller has cancelled the request.
    var isCancelled: Bool { stop?.isRequested == true }

    /// Whether the caller has set the deadline, after which it has no use for the handler's work.
    var endsAtDeadline: Bool { options.timeout != nil }

    /// Whether the URL is to be stored for later, and is not there already.
    var isToBeStored: Bool { if case .caller = start { options.isQueued } else { false } }

    /// Whether the URL is one that the sender wants only if there is no handler for another.
    var isFallback: Bool { fallbacks > 0 }

    /// Goes on with the next fallback, if there is no handler for the URL.
    ///
    /// - Throws: any other error; after the last fallback the error about the URL that the sender wanted.
    func useFallback(after error: OpenURLError) throws(OpenURLError) {
        guard error.code == .noHandler else { throw error }
        let first = noHandler ?? error
        noHandler = first
        // The queue has the URL that was chosen when it was stored.
        guard case .caller = start, fallbacks < options.fallback.count else { throw first }
        url = options.fallback[fallbacks]
        fallbacks += 1
        allowed = nil
    }

    /// Begins the time of the request, in a new place.
    ///
    /// - Parameters:
    ///   - number: the place in the order of arrival.
    ///   - usual: the time limit if the sender gives none.
    func begin(_ number: UInt64 = 0, usual: Duration) {
        self.number = number
        accepted = TracePhase.now
        timeout = options.timeout ?? usual
        // Other deliveries wait behind one of the queue, and their senders did not ask for more patience than usual.
        if case .queue = start { timeout = min(timeout, usual) }
        deadline = .now + timeout
        trace = []
        (causedLaunch, causedWake) = (false, false)
    }

    /// Completes the context with the sender's options. The request may go from now on.
    func complete() {
        context.annotation = options.annotation
        context.activationToken = options.activationToken
        context.desktopStartupID = options.desktopStartupID
        context.accepted = accepted
        context.requestID = id
        context.traceParent = options.traceParent
        context.wantsReply = waiting != nil || asked != nil
        isComplete = true
    }

    /// Whether a handler has sent the request, itself or by way of other handlers.
    func comes(from id: BusName) -> Bool {
        var link: OpenRequest? = self
        while let request = link {
            if request.context.sourceApplication == id.rawValue { return true }
            link = request.cause
        }
        return false
    }

    /// Decides what becomes of the request in its handler's queue, once.
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
