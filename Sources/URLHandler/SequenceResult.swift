internal import OpenURLBus

/// The result of one sequence.
struct SequenceResult {
    /// When the router accepted the request, in microseconds on the clock of `TracePhase.now`. If there is no request,
    /// this is when the sequence started.
    let start: UInt64
    private(set) var trace: [TracePhase] = []
    /// The first launch method that refused the URL; nil if none did.
    private(set) var veto: LifecycleStep?
    var response = OpenResponse.declined()
    /// The delegate's answer to what has woken the handler.
    var wakeAnswer = WakeAnswer()
    /// Why the delegate refused a push or failed in a task; nil if it did not.
    var refusal: String?
    /// Whether the URL was cancelled and the delegate has not handled it.
    var isCancelled = false

    init(start: UInt64 = TracePhase.now) {
        self.start = start
    }

    /// Notes the delegate's answer to a URL.
    mutating func take(_ answer: Result<OpenResponse, any Error>, of arrived: ArrivedURL?) {
        switch answer {
        case .success(let response): self.response = response
        case .failure(let error):
            response = .declined(reason: String(describing: error))
            isCancelled = arrived?.isCancelled == true || error is CancellationError
        }
    }

    mutating func add(_ step: LifecycleStep, _ answer: Bool) {
        trace.append(TracePhase(step.rawValue, since: start, answer: answer))
        let isLaunch = step == .willFinishLaunching || step == .didFinishLaunching
        if isLaunch, !answer, veto == nil { veto = step }
    }
}
