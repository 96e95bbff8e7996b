internal import DBus
internal import OpenURLBus

/// The part of a handler's session that ``RequestOutcomes`` uses.
protocol OutcomesView: SessionView {
    var requests: RequestQueue { get }
    /// Notes that the name's owner has launched.
    func finishLaunch(_ owner: BusName)
    /// Asks a handler to stop its work on a URL.
    @discardableResult
    func askToCancel(_ request: OpenRequest, _ owner: BusName) async -> Bool
}

/// Turns a handler's answer to a request, or the failure of the call, into the result or the error for the sender, and
/// notes what it says about the handler.
///
/// It belongs to the router's actor.
final class RequestOutcomes {
    private let id: BusName
    private let shared: SharedParts
    private let watchdog: ProgressWatchdog
    private let processes: HandlerProcesses
    private let foregroundCheck: ForegroundCheck
    private unowned let session: any OutcomesView

    init(
        _ id: BusName,
        _ shared: SharedParts,
        _ watchdog: ProgressWatchdog,
        _ processes: HandlerProcesses,
        _ foregroundCheck: ForegroundCheck,
        _ session: any OutcomesView
    ) {
        self.id = id
        self.shared = shared
        self.watchdog = watchdog
        self.processes = processes
        self.foregroundCheck = foregroundCheck
        self.session = session
    }

    private var process: HandlerProcess { session.process }

    // MARK: Answers

    /// Returns the result for a request that the handler has answered.
    ///
    /// - Throws: `declined` if the handler declined the URL, `invalidReply` if its reply has too many descriptors.
    func result(
        _ answer: OpenAnswer,
        _ request: OpenRequest,
        _ owner: BusName
    ) throws(OpenURLError) -> OpenResult {
        noteAnswer(to: request, owner)
        guard answer.isHandled else { throw OpenURLError(.declined, "\(id) declined the URL") }
        guard answer.reply.values.descriptorCount <= Value.maximumDescriptors else {
            throw OpenURLError(
                .invalidReply,
                "\(id) answered with more than \(Value.maximumDescriptors) descriptors"
            )
        }
        let answered = request.options.includesRouterSteps ? [TracePhase("answered", since: request.accepted)] : []
        var result = OpenResult(
            handler: id.rawValue,
            way: Self.way(of: request),
            reply: answer.reply,
            trace: request.trace + answer.trace.prefix(shared.limits.handlerPhases) + answered
        )
        result.isVerified = process.claim?.isStrong != false
        return result
    }

    /// Notes that the name's owner has answered, unless the process has been replaced.
    private func noteAnswer(to request: OpenRequest, _ owner: BusName) {
        session.finishLaunch(owner)
        // A process without `Activate` or `Wake` may be a handler that has nothing to show, or may be no handler.
        if request.purpose == .open, session.machine.owner == owner { process.hasAnsweredOpen = true }
    }

    private static func way(of request: OpenRequest) -> OpenResult.Way {
        if request.causedLaunch { return .launched }
        if request.causedWake { return .woken }
        return request.foundInBackground ? .background : .active
    }

    // MARK: Failures

    /// Returns the error for a request whose call has failed.
    ///
    /// - Parameter hadAnswered: whether the process had answered `Open` before this request. The process may be gone by now.
    func failure(
        _ error: CallError,
        _ request: OpenRequest,
        _ owner: BusName,
        _ hadAnswered: Bool
    ) async -> OpenURLError {
        switch error {
        case .remote(let error) where error.isFromBus && error.name == .noReply:
            // Read the verdict now, because the handler's next process clears it.
            let verdict = processes.verdict
            // Wait for the exit: the connection ends before the process does, and a sender that is told that a process
            // was killed should not find it still running.
            let crash = await processes.crashError(behind: owner)
            return verdict ?? crash
        case .remote(let error) where error.isFromMissingMethod && request.purpose == .open && !hadAnswered:
            // The process got the message with the tokens, but cannot act on the URL.
            request.wasHandedOver = false
            request.forgetTokens()
            return OpenURLError(
                .launchFailed,
                "the process that owns \(id) is not a handler: it lacks \(HandlerInterface.name).Open at \(ObjectPath(for: id))"
            )
        case .remote(let error) where error.isFromBus:
            // The error comes from one of the bus's quotas or policies, so the handler has not seen the URL.
            return OpenURLError(
                error.name == .limitsExceeded ? .limitsExceeded : .launchFailed,
                "the bus refused to pass the URL to \(id): \(error)"
            )
        case .remote(let error):
            noteAnswer(to: request, owner)
            let told = refusal(error, of: request)
            if told.code == .cancelled { foregroundCheck.doubt(after: request, owner) }
            return told
        case .timedOut:
            // The launch may be over, and the handler slow with the URL.
            shared.launches.ended(id)
            return await overdue(request, owner)
        case .unexpectedReply(let error):
            noteAnswer(to: request, owner)
            let answer = request.purpose.answer
            let wanted: QuotingText =
                answer == .empty ? "values, but the method has none" : "something other than '\(answer)'"
            return OpenURLError(.invalidReply, "\(id) answered with \(wanted): \(error)")
        case .notSent(let error):
            return OpenURLError(.limitsExceeded, "the URL cannot be passed to \(id): \(error)")
        case .cancelled:
            return request.isCancelled ? cancelled(request, owner) : tooLate(request)
        case .disconnected:
            return OpenURLError(.handlerCrashed, "the bus connection was lost before \(id) answered")
        }
    }

    /// Returns the error for a request that the handler has not got in time.
    func tooLate(_ request: OpenRequest) -> OpenURLError {
        let reason: QuotingText =
            process.isBusy
            ? "is still busy with an earlier URL; it did not get this one"
            : !session.requests.inHand.isEmpty
                ? "was busy with earlier URLs for \(request.timeout.inWords); it did not get this one"
                : request.wasBehindHang
                    ? "did not finish an earlier URL, and was not ready again in time; it did not get this one"
                    : "was not ready within \(request.timeout.inWords); it did not get the URL"
        return OpenURLError(.timedOut, "\(id) \(reason)")
    }

    /// Returns the error for a URL that the handler has, but has not answered in time.
    private func overdue(_ request: OpenRequest, _ owner: BusName) async -> OpenURLError {
        let session = session
        // A later URL with less time may have been the first to run out of it.
        let isBehindUnawaited = process.firstUnawaited.map { $0 < request.sendNumber } ?? false
        let isBehindAnother = isBehindUnawaited || session.requests.isBehindAnother(request)
        if request.endsAtDeadline {
            foregroundCheck.doubt(after: request, owner)
            shared.tasks.start { await session.askToCancel(request, owner) }
        }
        watchdog.becomesBusy(owner, with: request, isLate: true)
        if process.isHeld {
            let reason = "the process of \(id) is stopped, or a debugger holds it"
            return OpenURLError(.timedOut, "\(reason); it may open the URL when it continues")
        }
        if isBehindAnother {
            return OpenURLError(.timedOut, "\(id) is still busy with an earlier URL; it may open this one later")
        }
        let limit = request.timeout.inWords
        let method = await watchdog.unfinishedMethod(for: request.purpose, at: owner)
        let hasBegun = request.purpose == .open && !HandlerInterface.launchPhases.contains(method.description)
        let consequence: QuotingText = hasBegun ? "; it may have acted on the URL" : ""
        return OpenURLError(.timedOut, "\(method) of \(id) did not return within \(limit)\(consequence)")
    }

    /// Returns the error for a cancelled request that the handler has not answered.
    private func cancelled(_ request: OpenRequest, _ owner: BusName) -> OpenURLError {
        guard request.wasHandedOver else { return .withdrawn }
        foregroundCheck.doubt(after: request, owner)
        watchdog.becomesBusy(owner, with: request, isLate: false)
        return OpenURLError(.cancelled, "the request was cancelled; \(id) has the URL and may still open it")
    }

    /// Turns a handler's error into the error for the sender.
    private func refusal(_ error: RemoteError, of request: OpenRequest) -> OpenURLError {
        if let code = OpenURLError(byHandler: error)?.code, code != .declined {
            let words = error.words
            let message = words.isEmpty ? error.name.rawValue : words
            return OpenURLError(code, message.cut(toBytes: shared.limits.errorBytes))
        }
        return shared.declined(by: id, error, subject: request.subject)
    }
}

extension OpenURLError {
    /// Parses an error with which a handler may answer; nil for the errors that only the router may report.
    fileprivate init?(byHandler error: RemoteError) {
        guard let error = OpenURLError(error) else { return nil }
        switch error.code {
        case .declined, .launchVetoed, .limitsExceeded, .malformedURL, .cancelled: self = error
        case .noHandler, .launchFailed, .handlerCrashed, .timedOut, .notAllowed, .loopDetected, .notQueued,
            .invalidReply, .alreadyClaimed:
            return nil
        }
    }
}

extension OpenRequest.Purpose {
    /// The type of the answer in the contract; empty for a method without results.
    fileprivate var answer: Signature {
        switch self {
        case .open: OpenAnswer.signature
        case .wake: WakeAnswer.signature
        case .activate, .comeBack: .empty
        }
    }
}

extension OpenRequest {
    /// The thing that a handler declines if it answers with an error, in words.
    fileprivate var subject: QuotingText {
        guard purpose == .wake else { return "the URL" }
        if waking.push != nil { return "the push" }
        if waking.task != nil { return "the task" }
        return "the notification"
    }
}
