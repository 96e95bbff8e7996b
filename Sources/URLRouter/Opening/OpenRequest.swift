internal import DBus
internal import Desktop
internal import Links
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// One URL on its way through the router, or a request to show or start a handler.
///
/// The stages in `Opener.open` fill it in. It belongs to the router's actor.
final class OpenRequest {
    let purpose: Purpose
    let start: Start
    /// The URL to try: either the one that the sender wants, or one of its fallbacks.
    private(set) var url: String
    var options: OpenOptions
    /// The ID by which the handler knows the request; nil if there is no URL.
    var id: String?
    /// Lets the caller cancel the request; nil if it cannot.
    let stop: Stop?
    /// Identifier of the handler whose inbox holds the file, if the router has put it there; otherwise nil.
    let inbox: String?
    /// The call that waits for the handler's answer; nil if the sender only opens the URL.
    let waiting: WaitingCall?
    /// The reason and the things that the handler gets instead of a URL, if the request is to wake or to show it.
    let waking: WakeContext
    /// The handler's answer, if the request has woken it.
    var wakeAnswer = WakeAnswer()
    /// The request as others see it; nil if nobody is watching.
    var observed: Observation?
    /// Resources that the router holds for the request until it is answered.
    var load: RequestLoad
    /// The application that is charged for the request.
    var account: String {
        get { load.account }
        set { load.account = newValue }
    }

    // MARK: The stages

    /// The parsed URL and its claimant; nil until *resolve* has found them.
    var destination: Destination?
    /// Whether the request brings its handler to the foreground.
    var bringsToForeground: Bool {
        switch purpose {
        case .open: !options.inBackground
        case .activate, .comeBack: true
        case .wake: false
        }
    }

    /// The URL's scheme; nil if there is no URL, or if *resolve* has not found its claimant.
    var scheme: Scheme? { destination.flatMap { Scheme(of: $0.url) } }
    /// The place where it waits; nil while it moves from one place to the next.
    var place: Place?
    /// The sender; nil until *identify* has found it.
    var sender: Caller?
    /// The program for which the caller passes the URL on, if the router knows; nil if the caller is the sender.
    var originator: Caller?
    /// Identifier of the handler or application to which the user has allowed the URL to go.
    var allowed: String?
    /// The program that the person has chosen for the URL; nil as long as nobody has chosen one.
    var choice: LinkTarget?
    /// Number of fallbacks tried so far.
    private var fallbacks = 0
    /// Why the URL that the sender wants was not opened.
    private var noHandler: OpenURLError?
    /// The context that goes to the handler with the URL.
    var context = OpenContext()
    /// The request that the sending handler was working on, and so the likely reason for this one. It is nil for other
    /// senders, and becomes nil when this request is answered.
    var cause: OpenRequest?
    /// Callbacks that the sender has asked for.
    var asked: AskedCallbacks?
    /// Process ID of the sender; nil if the URL comes from the queue, or if its process is unknown.
    var caller: UInt32? { sender?.pid }

    // MARK: The place

    /// The request's place in the order of arrival at its handler.
    private(set) var number: UInt64 = 0
    /// The request's place in the order in which the handler gets its requests; the last place until it is sent.
    var sendNumber = UInt64.max
    /// When the request got its place, in microseconds on the clock of `TracePhase.now`.
    private(set) var accepted: UInt64 = 0
    /// The time until which the sender waits, wherever the request is by then; nil if it has set none.
    var end: ContinuousClock.Instant?
    /// Whether that time was over before the person had answered.
    private var isLate = false
    /// The time by which the sender must have its answer.
    private(set) var deadline = ContinuousClock.now
    /// The time between ``accepted`` and ``deadline``.
    private(set) var timeout = Duration.zero
    /// Steps that the router itself has taken.
    private(set) var trace: [TracePhase] = []
    /// Whether the router started a process for this request.
    var causedLaunch = false
    /// Whether a stopped process was woken for this request.
    var causedWake = false
    /// Whether the handler was in the background when it got the request.
    var foundInBackground = false
    /// Whether the request may go to its handler as soon as its turn comes.
    private(set) var isComplete = false
    /// Whether the handler's queue counts the request.
    var isCounted = false
    var turn = Turn.waiting
    /// Whether the request was let through as one of many from its application, and has not been answered yet.
    var isOneOfMany = false
    /// Whether a process has received the URL and may have acted on it, or the URL has been stored for later.
    var wasHandedOver = false
    /// Whether the tokens in the options are those that the router has spent for this request.
    var hasOwnTokens = false
    /// Whether the handler lacks the method that wakes it.
    var isWakeMissing = false
    /// Whether the process that had the request exited before it began to handle it.
    var isUnbegun = false
    /// Whether the request was behind another one at a process that was killed because it hung.
    var wasBehindHang = false
    var timer: TimerID?
    /// Called when an application's command has been started with the URL; nil unless the caller is to know.
    var whenStarted: (() -> Void)?
    /// Passes the handler's progress reports on to the caller; nil before the first one.
    var reports: PassedReports?
    /// Ends the wait for a handler that does not answer a cancelled request.
    var cancelTimer: TimerID?

    enum Purpose {
        case open
        case activate
        /// Bring the handler back to the foreground without asking it to show itself.
        case comeBack
        case wake
    }

    /// A request's origin.
    enum Start {
        /// A caller's connection; nil without a bus.
        case caller(BusName?)
        /// An attempt to deliver from the queue.
        indirect case queue(Delivery, id: String)
        /// A callback that the router opens on behalf of the handler that has answered.
        case callback(AskedCallbacks)
        case router
    }

    /// A place where a request waits, and can be cancelled.
    enum Place {
        case queue(of: HandlerSession)
        case arrivals(ArrivalOrder.Place)
        case question(Questions.Place)
        case choice(LinkChooser.Place)
        case application
        case command(StartingCommand)
    }

    enum Turn {
        /// It is in the queue, but its task is not waiting for its turn yet.
        case waiting
        /// It is in the queue, and its task continues when its turn comes, or when it is clear that its turn will never
        /// come.
        case suspended(CheckedContinuation<Result<BusName, OpenURLError>, Never>)
        /// It has left the queue and is going to this connection.
        case granted(BusName)
        /// It has left the queue and will not be delivered.
        case refused(OpenURLError)
    }

    /// Creates a request for a URL.
    ///
    /// - Parameter bytes: the size of the call's arguments, for which the caller's application is charged; nil for the
    ///   size of the URL.
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
        waking = WakeContext()
        self.observed = observed
        if let timeout = options.timeout { end = ContinuousClock.now + timeout }
        allowed = inbox
        load = RequestLoad(bytes: bytes ?? url.utf8.count, descriptors: options.annotation?.descriptorCount ?? 0)
    }

    /// Creates a request to show a handler.
    ///
    /// - Parameters:
    ///   - options: options with the focus tokens.
    ///   - context: what the handler gets.
    convenience init(
        activatingWith options: OpenOptions,
        _ context: WakeContext = WakeContext(),
        observed: Observation?
    ) {
        self.init(.activate, options, context, observed: observed)
    }

    /// Creates a request to wake a handler, and to launch it into the background if it is not running.
    ///
    /// - Parameter context: the reason, and what belongs to it.
    convenience init(waking context: WakeContext, observed: Observation?) {
        self.init(.wake, OpenOptions(), context, observed: observed)
    }

    /// Returns a request to bring a handler back to the foreground as it is.
    static func comingBack() -> OpenRequest { OpenRequest(.comeBack, OpenOptions(), WakeContext(), observed: nil) }

    private init(_ purpose: Purpose, _ options: OpenOptions, _ waking: WakeContext, observed: Observation?) {
        self.purpose = purpose
        start = .router
        url = ""
        self.options = options
        self.waking = waking
        self.observed = observed
        (stop, inbox, waiting) = (nil, nil, nil)
        load = RequestLoad(bytes: 0, descriptors: 0)
    }

    /// Whether the request is an attempt at a delivery that has been removed from the queue.
    var isDropped = false
    /// Whether the caller has cancelled the request, or its delivery has been removed from the queue.
    var isCancelled: Bool { isDropped || stop?.isRequested == true }

    /// Whether the caller has set the deadline itself. If so, it has no use for the handler's work afterwards.
    var endsAtDeadline: Bool { options.timeout != nil }

    /// Whether the router only wants to know who would get the URL.
    var isForecast = false
    /// Whether the person may be asked which program opens the URL. A URL for later meets the rules of that time.
    var asksForChoice: Bool { !isForecast && !isToBeStored }

    /// Whether the URL still has to be stored for later.
    var isToBeStored: Bool { if case .caller = start { options.isQueued } else { false } }

    /// The handler that a stored URL comes from; nil for any other URL.
    var origin: String? { if case .queue(let delivery, _) = start { delivery.context.sourceApplication } else { nil } }

    /// Whether the URL is a fallback, tried because there is no handler for an earlier one.
    var isFallback: Bool { fallbacks > 0 }

    /// Moves on to the next fallback if there is no handler for the URL.
    ///
    /// - Throws: any other error; after the last fallback, the error about the URL that the sender wanted.
    func useFallback(after error: OpenURLError) throws(OpenURLError) {
        guard error.code == .noHandler else { throw error }
        let first = noHandler ?? error
        noHandler = first
        // For a queued URL, the choice was made when it was stored.
        guard case .caller = start, fallbacks < options.fallback.count else { throw first }
        url = options.fallback[fallbacks]
        fallbacks += 1
        (allowed, choice) = (nil, nil)
    }

    /// Moves on to the browser if a handler that gets a link because of a proof, or of a rule, has not opened it.
    ///
    /// - Returns: whether the browser is to be tried.
    func usesBrowser(after error: OpenURLError) -> Bool {
        guard case .caller = start, let destination, !isToBeStored, !isCancelled, !options.inBrowser else {
            return false
        }
        // A person's choice is not replaced.
        let isByRule = destination.manner != nil && destination.claimant.handler != nil && choice == nil
        guard destination.isProven || isByRule else { return false }
        switch error.code {
        case .launchFailed: guard !wasHandedOver else { return false }
        // The handler has said that it does not open the link.
        case .declined, .launchVetoed: break
        default: return false
        }
        // A handler that has answered has received the tokens, and a process that was started had them in its environment.
        if causedLaunch || error.code != .launchFailed { forgetTokens() }
        options.inBrowser = true
        wasHandedOver = false
        allowed = nil
        return true
    }

    /// Leaves the focus tokens out of what follows, because a program has received them. They are for one program.
    func forgetTokens() {
        (options.activationToken, options.desktopStartupID) = (nil, nil)
    }

    /// Starts the request's clock when it gets a new place.
    ///
    /// - Parameters:
    ///   - number: its place in the order of arrival.
    ///   - usual: the time limit if the sender sets none.
    func begin(_ number: UInt64 = 0, usual: Duration) {
        self.number = number
        accepted = TracePhase.now
        timeout = options.timeout ?? usual
        // Other deliveries wait behind this one, and their senders did not agree to wait longer than usual.
        if case .queue = start { timeout = min(timeout, usual) }
        deadline = .now + timeout
        if let end { deadline = min(deadline, end) }
        trace = []
        (causedLaunch, causedWake) = (false, false)
    }

    /// Lets the person answer only as long as the sender waits.
    ///
    /// - Parameter withdraw: makes the wait for the answer end. Ask ``lateError`` after it.
    /// - Returns: cancel this when the wait has ended; nil if the sender has set no time.
    func limitPerson(on loop: EventLoop, _ withdraw: @escaping () -> Void) -> RestartableTimer? {
        guard let end else { return nil }
        let timer = RestartableTimer(on: loop)
        timer.start(at: end) { [self] in
            isLate = true
            withdraw()
        }
        return timer
    }

    /// The error if the person has not answered while the sender waited; otherwise nil.
    var lateError: OpenURLError? {
        guard isLate, let timeout = options.timeout else { return nil }
        return OpenURLError(.timedOut, "the user was asked, and did not answer within \(timeout.inWords)")
    }

    /// Fills in the context from the sender's options, after which the request may go to its handler.
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

    /// Returns whether a handler has sent the request, either itself or through other handlers.
    func comes(from id: BusName) -> Bool {
        var link: OpenRequest? = self
        while let request = link {
            if request.context.sourceApplication == id.rawValue { return true }
            link = request.cause
        }
        return false
    }

    /// Decides once what becomes of the request in its handler's queue.
    func resolve(_ result: Result<BusName, OpenURLError>) {
        if case .suspended(let continuation) = turn { continuation.resume(returning: result) }
        switch result {
        case .success(let owner): turn = .granted(owner)
        case .failure(let error): turn = .refused(error)
        }
    }

    /// Adds a step that every request goes through, if the caller wants to see such steps.
    func addRouterPhase(_ name: String) {
        if options.includesRouterSteps { addPhase(name) }
    }

    func addPhase(_ name: String) {
        let phase = TracePhase(name, since: accepted)
        trace.append(phase)
        observed?.reach(phase)
    }
}
