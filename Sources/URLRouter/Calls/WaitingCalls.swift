internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry

/// Calls that wait for their answers, by token.
///
/// A call stays in the table until its outcome: an answer, a failure to open the URL, a cancellation, the time limit,
/// or the end of its caller's connection. This belongs to the router's actor.
final class WaitingCalls {
    private let bus: any BusNames
    private let sessions: HandlerSessions
    private let loop: EventLoop
    private let limits: RouterLimits
    private let tasks: RouterTasks
    private var waiting: [String: Entry] = [:]
    private var shares: Shares<String>

    /// A call, and everything that ends with it.
    private struct Entry {
        let call: WaitingCall
        let timer: RestartableTimer
        let watch: ConnectionWatch
    }

    init(
        _ bus: any BusNames,
        _ sessions: HandlerSessions,
        _ limits: RouterLimits,
        _ loop: EventLoop,
        _ tasks: RouterTasks
    ) {
        self.tasks = tasks
        self.bus = bus
        self.sessions = sessions
        self.limits = limits
        self.loop = loop
        shares = Shares(limit: limits.calls)
    }

    /// The number of calls.
    var count: Int { waiting.count }

    /// Adds a call.
    ///
    /// - Throws: `limitsExceeded` if too many calls of the sender's application are waiting.
    func add(of sender: Caller) throws(OpenURLError) -> WaitingCall {
        guard shares.refusal(of: sender.account, 1) == nil else {
            throw OpenURLError(
                .limitsExceeded,
                "\(shares[sender.account]) calls of \(sender.account) are already waiting for their answers; try again later"
            )
        }
        let call = WaitingCall(of: sender)
        shares.add(1, to: call.account)
        let watch = ConnectionWatch(on: bus) { [unowned self] in end(call, .failure(.withdrawn)) }
        waiting[call.token] = Entry(call: call, timer: RestartableTimer(on: loop), watch: watch)
        return call
    }

    /// Ends a call when its caller's connection ends.
    func follow(_ caller: BusName, _ call: WaitingCall) async throws(OpenURLError) {
        try await waiting[call.token]?.watch.begin(caller, tasks)
    }

    /// Ends a call at the given time if it has no answer by then.
    func limit(_ call: WaitingCall, to end: ContinuousClock.Instant, of timeout: Duration) {
        // This timer may outlive the router.
        waiting[call.token]?.timer.start(at: end) { [weak self] in
            let reason: QuotingText =
                if let answerer = call.claimant?.id {
                    "\(answerer) got the URL, but did not answer within \(timeout.inWords)"
                } else {
                    "the desktop was not ready for the answer within \(timeout.inWords); no handler got the URL"
                }
            self?.end(call, .failure(OpenURLError(.timedOut, reason)))
        }
    }

    /// Lets a call wait without a limit, because the URL's own limit holds while it is opened.
    func endLimit(of call: WaitingCall) {
        waiting[call.token]?.timer.cancel()
    }

    /// Ends every call.
    func stop() {
        for entry in waiting.values {
            end(entry.call, .failure(OpenURLError(.cancelled, "the router exited before the answer came")))
        }
    }

    /// Ends a call. If it already has its outcome, nothing happens.
    func end(_ call: WaitingCall, _ outcome: Result<OpenResult, OpenURLError>) {
        guard let entry = waiting.removeValue(forKey: call.token) else { return }
        shares.remove(1, from: call.account)
        entry.timer.cancel()
        entry.watch.end()
        call.end(outcome)
    }

    // MARK: Answers

    /// Returns the call that a URL answers, and its handler or application; nil if no call is waiting for the answer.
    private func answered(by url: GenericURL) -> (answer: CallAnswer, call: WaitingCall, claimant: Claimant)? {
        guard let answer = CallAnswer(url), let call = waiting[answer.token]?.call, let claimant = call.claimant else {
            return nil
        }
        return (answer, call, claimant)
    }

    /// Decides whether to accept a URL that answers a call (`XCallbackURL.isReply(_:)`). If the answer is refused,
    /// the call keeps waiting.
    func decision(on url: GenericURL, from sender: Caller) -> Decision {
        guard let (_, _, claimant) = answered(by: url) else { return .refuse(Self.noCall) }
        guard isAnswerer(sender, claimant) else {
            return .refuse(OpenURLError(.notAllowed, "only \(claimant.id) may answer this call"))
        }
        return .go
    }

    /// Ends the call that a URL answers.
    func answer(with url: GenericURL) throws(OpenURLError) -> OpenResult {
        guard let (answer, call, claimant) = answered(by: url) else { throw Self.noCall }
        end(call, outcome(of: answer.kind, FormParameters(queryOf: url), call, claimant))
        return OpenResult(handler: CallbackInterface.handler, way: .callback, reply: [:], trace: [])
    }

    private static let noCall = OpenURLError(
        .notAllowed,
        "no call is waiting for this answer; the call may already have one, or be over"
    )

    private func outcome(
        of kind: CallAnswer.Kind,
        _ parameters: FormParameters,
        _ call: WaitingCall,
        _ claimant: Claimant
    ) -> Result<OpenResult, OpenURLError> {
        switch kind {
        case .success:
            let reply = parameters.values.mapValues { values in
                values.count == 1 ? Value.string(values[0]) : .array(values.map(Value.string), of: "s")
            }
            var result = OpenResult(handler: claimant.id, way: .callback, reply: reply, trace: [])
            result.requestID = call.requestID
            return .success(result)
        case .error:
            let message = parameters["errorMessage"] ?? "\(claimant.id) answered with an error"
            let text = parameters["errorCode"].map { "\(message) (\($0))" } ?? message
            return .failure(OpenURLError(.declined, text.cut(toBytes: limits.errorBytes)))
        case .cancel:
            return .failure(OpenURLError(.cancelled, "\(claimant.id) answered with x-cancel"))
        }
    }

    /// Returns whether a program may answer for the handler or application that has a call's URL.
    ///
    /// The router knows a handler's process, and the processes that descend from it. But an application may hand the
    /// URL to another of its processes, so only a program with another identity is refused. A portal, or an opener
    /// whose parent is not known, proves its right with the token.
    private func isAnswerer(_ sender: Caller, _ claimant: Claimant) -> Bool {
        switch claimant {
        case .handler(let handler):
            if let application = sender.source.application { return application == handler.id.rawValue }
            if sender.callerClass == .user, sender.source.isIntermediary { return true }
            // If a handler was started by hand, it has no identity.
            let process = sessions[handler.id]?.process.running.flatMap { UInt32(exactly: $0.pid) }
            return process != nil && [sender.pid, sender.source.pid].contains(process)
        case .application(let application):
            return sender.source.application.map { $0 == application.id.name } ?? true
        }
    }
}
