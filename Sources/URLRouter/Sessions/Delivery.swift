internal import DBus
internal import OpenURLBus
internal import Reactor

/// A request's way from its handler's queue to its outcome.
extension URLRouter {
    func deliver(_ request: OpenRequest, _ session: HandlerSession) async throws(OpenURLError) -> OpenResult {
        while true {
            if case .waiting = request.turn { handle(.requested, session) }
            let owner = try await turn(of: request, session)
            session.inHand[request.number] = request
            let answer = await attempt(request, session, owner)
            session.inHand[request.number] = nil
            if session.inHand.isEmpty { startStateTimerWhenIdle(session) }
            switch answer {
            case .success(let answer): return try result(answer, request, session, owner)
            case .failure(let error):
                let isUndelivered = Self.isUndelivered(error)
                guard isUndelivered else { throw failure(error, request, session, owner) }
                // That process has not seen it, so it goes to the next one.
                request.handover?.isDone = false
                if session.owner == owner { handle(.refusesMore, session) }
                session.enqueue(request)
            }
        }
    }

    /// Waits until the handler is ready and everything that came before has been handed over.
    func turn(of request: OpenRequest, _ session: HandlerSession) async throws(OpenURLError) -> BusName {
        var isSuspended = false
        let result: Result<BusName, OpenURLError> = await withCheckedContinuation { continuation in
            // Its turn may have come on the way to here, which leads through the loop for a task of somebody else's.
            switch request.turn {
            case .granted(let owner): return continuation.resume(returning: .success(owner))
            case .refused(let error): return continuation.resume(returning: .failure(error))
            case .waiting, .suspended: break
            }
            isSuspended = true
            request.turn = .suspended(continuation)
            let isInCircle = session.closesCircle(request)
            let limit = isInCircle ? min(request.deadline, .now + limits.circleTimeout) : request.deadline
            request.timer = loop.schedule(at: limit) { self.expire(request, session) }
        }
        if let timer = request.timer { loop.cancelTimer(timer) }
        let owner = try result.get()
        guard isSuspended else { return owner }
        session.onTheirWay -= 1
        // Those that came meanwhile follow by way of the loop's jobs; this one is handed over before that.
        if session.onTheirWay == 0 { perform(.deliver, session) }
        return owner
    }

    func expire(_ request: OpenRequest, _ session: HandlerSession) {
        guard case .suspended = request.turn else { return }
        let isInCircle = session.closesCircle(request)
        guard isInCircle || request.deadline <= .now else {
            // The circle has been broken at another place.
            request.timer = loop.schedule(at: request.deadline) { self.expire(request, session) }
            return perform(.deliver, session)
        }
        session.remove(request)
        let loopDetected = OpenURLError(
            .loopDetected,
            "\(session.id) is still opening the URL that this one follows from, and they would wait for each other"
        )
        request.resolve(.failure(isInCircle ? loopDetected : tooLate(request, session)))
        perform(.deliver, session)
    }

    func tooLate(_ request: OpenRequest, _ session: HandlerSession) -> OpenURLError {
        OpenURLError(
            .timedOut,
            "\(session.id) was not ready within \(request.timeout); it did not get the URL"
        )
    }

    func attempt(
        _ request: OpenRequest,
        _ session: HandlerSession,
        _ owner: BusName
    ) async -> Result<OpenAnswer, CallError> {
        guard var context = request.context else { return .failure(.cancelled) }
        // The handler may have given its name back since the request was granted, and then counts on getting nothing more.
        guard session.owner == owner else {
            return .failure(.remote(RemoteError(HandlerInterface.ending, "\(session.id) is ending")))
        }
        if !session.hasAnswered, session.launchTimer == nil, session.process?.isChild == true {
            startLaunchTimer(session)
        }
        if request.causedLaunch || request.causedWake { request.addPhase("ready") }
        let left = ContinuousClock.now.duration(to: request.deadline)
        guard left > .zero else { return .failure(.cancelled) }
        let activity = session.machine.state
        request.foundInBackground =
            activity == .running(owner: owner, .background) || activity == .running(owner: owner, .leaving)
        let inBackground = request.options.inBackground
        handle(.handsOver(inBackground: inBackground), session)
        let notifications = session.notifications
        session.notifications = [:]
        do throws(CallError) {
            switch request.purpose {
            case .open(let url):
                request.handover?.isDone = true
                context.inBackground = inBackground
                context.notifications = notifications
                return .success(try await bus.open(url, context, with: session.id, at: owner, timeout: left))
            case .activate, .wake:
                if !notifications.isEmpty { try await bus.notify(notifications, session.id, at: owner) }
                try await bus.activate(session.id, at: owner, timeout: left)
                return .success(OpenAnswer(isHandled: true, reply: [:], trace: []))
            }
        } catch {
            return .failure(error)
        }
    }

    func result(
        _ answer: OpenAnswer,
        _ request: OpenRequest,
        _ session: HandlerSession,
        _ owner: BusName
    ) throws(OpenURLError) -> OpenResult {
        finishLaunch(session, owner)
        guard answer.isHandled else { throw OpenURLError(.declined, "\(session.id) declined the URL") }
        return OpenResult(
            handler: session.id.rawValue,
            path: request.causedLaunch ? .launched : request.foundInBackground ? .woken : .active,
            reply: answer.reply,
            trace: request.trace + answer.trace
        )
    }

    /// Whether the error says that no process has seen the URL.
    static func isUndelivered(_ error: CallError) -> Bool {
        guard case .remote(let error) = error else { return false }
        return error.isFromMissingService || error.name == HandlerInterface.ending
    }

    func failure(
        _ error: CallError,
        _ request: OpenRequest,
        _ session: HandlerSession,
        _ owner: BusName
    ) -> OpenURLError {
        let id = session.id
        switch error {
        case .remote(let error) where error.isFromBus && error.name == .noReply:
            return session.verdict
                ?? OpenURLError(.handlerCrashed, "\(id) ended before it answered; it may have acted on the URL")
        case .remote(let error) where error.isFromMissingMethod && !session.hasAnswered:
            return OpenURLError(
                .launchFailed,
                "the process that owns \(id) is no handler: it lacks \(HandlerInterface.name).Open at \(ObjectPath(for: id))"
            )
        case .remote(let error) where error.isFromBus:
            // A quota or a policy of the bus is no answer of the handler's, which has not seen the URL.
            return OpenURLError(
                error.name == .limitsExceeded ? .limitsExceeded : .launchFailed,
                "the bus does not hand the URL to \(id): \(error)"
            )
        case .remote(let error):
            finishLaunch(session, owner)
            // A handler in another language says no by raising an error of its own.
            return Self.handlersOwn(error)
                ?? OpenURLError(.declined, error.message.isEmpty ? error.name.rawValue : error.message)
        case .timedOut:
            return OpenURLError(.timedOut, "open of \(id) did not return within \(request.timeout)")
        case .unexpectedReply(let error):
            return OpenURLError(
                .declined,
                "\(id) answered with something else than '\(OpenAnswer.signature)': \(error)"
            )
        case .notSent(let error):
            return OpenURLError(.limitsExceeded, "the URL cannot be handed to \(id): \(error)")
        case .cancelled:
            return tooLate(request, session)
        case .disconnected:
            return OpenURLError(.handlerCrashed, "the session bus ended before \(id) answered")
        }
    }

    /// The error, where it is one that a handler may answer with; the others are the router's to say.
    static func handlersOwn(_ error: RemoteError) -> OpenURLError? {
        guard let error = OpenURLError(error) else { return nil }
        return switch error.code {
        case .declined, .launchVetoed, .limitsExceeded, .malformedURL: error
        default: nil
        }
    }

    func finishLaunch(_ session: HandlerSession, _ owner: BusName) {
        guard session.owner == owner else { return }
        session.hasAnswered = true
        stopLaunchTimer(session)
    }
}
