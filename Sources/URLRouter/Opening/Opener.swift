internal import DBus
internal import Desktop
internal import Logging
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// Takes URLs to their receivers: a handler, an application, the store of URLs to deliver later, or a program that
/// waits for the URL.
///
/// It belongs to the router's actor.
final class Opener {
    let parts: Parts
    /// Gives IDs to requests whose callers give them none.
    var names = RequestNames()
    /// Attempts at deliveries from the queue, by the numbers of the deliveries.
    var attempts: [Int64: OpenRequest] = [:]

    /// The parts of the router that hand URLs over, or decide about them.
    struct Parts {
        let handlers: KnownHandlers
        let sessions: HandlerSessions
        let applications: ApplicationOpener
        /// Later deliveries; nil if there is nowhere to store them.
        let deliveries: DeliveryScheduler?
        let callbacks: Callbacks
        let calls: WaitingCalls
        let callers: Callers
        let destinations: Destinations
        let links: LinkRouting
        let provenLinks: ProvenLinks
        let permissions: Permissions
        let questions: Questions
        let monitor: Monitor
        let limits: RouterLimits
        let tasks: RouterTasks
        /// Checks a URL for another host before it is stored.
        let checkHost: (HostName, Caller) throws(OpenURLError) -> Void
    }

    init(_ parts: Parts) {
        self.parts = parts
    }

    /// Takes a URL through all stages, and returns the answer. For URLs from callers, from the queue and from
    /// callbacks, only the beginning and the end differ.
    ///
    /// The request keeps its place in the order of arrival until it is delivered. Only if the user has to be asked does
    /// it give up its place and start again after the answer. If there is no handler for the URL, its fallbacks go
    /// through the same stages, one after the other.
    func open(_ request: OpenRequest) async throws(OpenURLError) -> OpenResult {
        do throws(OpenURLError) {
            try begin(request)
            defer { end(request) }
            while true {
                do throws(OpenURLError) {
                    let receiver = try await resolve(request)
                    try place(request, at: receiver)
                    defer { leave(request) }
                    try await identify(request)
                    switch decide(request, for: receiver) {
                    case .go:
                        return answer(request, try await deliver(request, to: receiver))
                    case .ask(let dialog):
                        leave(request)
                        try await ask(dialog, about: request)
                    case .refuse(let error):
                        throw error
                    }
                } catch {
                    if request.usesBrowser(after: error) {
                        if let destination = request.destination { parts.links.warn(of: destination, after: error) }
                        continue
                    }
                    try request.useFallback(after: error)
                }
            }
        } catch {
            throw await answer(request, error)
        }
    }

    private func begin(_ request: OpenRequest) throws(OpenURLError) {
        guard case .caller(let name) = request.start else { return }
        try parts.callers.count(&request.load, of: name)
        request.stop?.handle.withdraw = { [unowned self, unowned request] in withdraw(request) }
    }

    private func end(_ request: OpenRequest) {
        guard case .caller = request.start else { return }
        request.stop?.handle.withdraw = nil
        parts.callers.discount(request.load)
    }

    /// Finds the receiver of a URL. To keep the order of arrival, it does not switch tasks on the way, except for a
    /// file's URL, for a URL that a program is waiting for, and for a link about which there may be a rule or a proof.
    private func resolve(_ request: OpenRequest) async throws(OpenURLError) -> Receiver {
        if request.isCancelled { throw .withdrawn }
        request.destination = nil
        if case .caller = request.start { request.sender = nil }
        let url = try GenericURL(ofCaller: request.url, desktopEntry: request.options.desktopEntry)
        if request.isToBeStored, let host = request.options.host {
            return .host(host, url, try store(for: request))
        }
        if case .caller = request.start, Scheme(of: url) == .reply { return .call(url) }
        let claims = try claims(on: url, request)
        if !claims.isEmpty, let receiver = try await receiver(of: url, request, among: claims) { return receiver }
        let destinations = parts.destinations
        let sender = destinations.dependsOnSender(url, request.options) ? try await sender(of: request) : nil
        return try receiver(at: try await destinations.destination(of: url, request, from: sender), request)
    }

    /// Gives a request its place in the order of arrival.
    private func place(_ request: OpenRequest, at receiver: Receiver) throws(OpenURLError) {
        switch receiver {
        case .handler(let session):
            try session.accept(request)
            request.place = .queue(of: session)
        case .application:
            request.begin(usual: request.destination?.claimant.handler?.openTimeout ?? parts.limits.openTimeout)
        case .store(let deliveries), .host(_, _, let deliveries):
            request.place = .arrivals(deliveries.arrivals.enter())
        case .claim, .call: break
        }
    }

    func leave(_ request: OpenRequest) {
        switch request.place {
        case .queue(let session): session.leave(request)
        case .arrivals(let place): parts.deliveries?.arrivals.leave(place)
        case .question, .choice, .application, .command, nil: break
        }
        request.place = nil
    }

    /// Finds out who the sender is.
    private func identify(_ request: OpenRequest) async throws(OpenURLError) {
        try await findSender(of: request)
        // Handlers tell requests apart by their names, so don't let a confined program choose one.
        if request.sender?.callerClass.isConfined == true, case .caller = request.start, case .queue = request.place {
            let id = names.next()
            request.id = id
            request.waiting?.requestID = id
            request.observed?.note { $0.requestID = id }
        }
    }

    /// Decides whether the URL may go to its receiver.
    private func decide(_ request: OpenRequest, for receiver: Receiver) -> Decision {
        guard !request.isCancelled, let sender = request.sender else { return .refuse(.withdrawn) }
        switch receiver {
        case .handler, .application, .store: return decide(request, from: sender)
        case .call(let url): return decide(request, from: sender, answering: url)
        case .host(let host, let url, _): return decide(request, from: sender, to: host, url)
        // The claim itself says who may deliver the URL.
        case .claim: return .go
        }
    }

    /// Asks the user. Afterwards the request starts again, because the registry may have changed in the meantime.
    private func ask(_ dialog: PolicyDialog, about request: OpenRequest) async throws(OpenURLError) {
        let place = Questions.Place()
        request.place = .question(place)
        let timer = request.limitPerson(on: parts.sessions.shared.loop) { [parts] in parts.questions.giveUp(place) }
        defer {
            timer?.cancel()
            request.place = nil
        }
        do throws(OpenURLError) {
            try await parts.questions.ask(dialog, place)
        } catch {
            throw request.lateError ?? error
        }
        if let error = request.lateError { throw error }
        request.allowed = request.destination?.claimant.id
    }

    /// Hands the URL over, and returns the answer.
    private func deliver(_ request: OpenRequest, to receiver: Receiver) async throws(OpenURLError) -> OpenResult {
        // A URL that is stored spends its tokens when it is delivered. A receiver that could not be started leaves them
        // to the next one.
        if !request.isToBeStored, !request.hasOwnTokens {
            parts.sessions.shared.focusTokens.spend(&request.options)
            request.hasOwnTokens = true
        }
        switch receiver {
        case .handler(let session):
            complete(request, for: session)
            if let destination = request.destination, destination.isProven {
                parts.provenLinks.note(destination.url, for: session.handler)
            }
            return try await session.deliver(request)
        case .application: return try await deliverToApplication(request)
        case .store(let deliveries): return try await store(request, in: deliveries)
        case .host(let host, let url, let deliveries):
            return try await store(request, url, to: host, in: deliveries)
        case .claim(let claim, let url): return parts.callbacks.deliver(url, request, to: claim)
        case .call(let url): return try parts.calls.answer(with: url)
        }
    }

    /// Notes what the request's place in a chain of openings is, and what its sender wants to hear, before the handler
    /// gets it.
    private func complete(_ request: OpenRequest, for session: HandlerSession) {
        if case .caller(let name) = request.start {
            request.asked = parts.callbacks.asked(by: request, of: name, session)
            request.cause = request.sender?.cause
        }
        request.complete()
    }

    /// Finishes a request that was delivered.
    private func answer(_ request: OpenRequest, _ delivered: OpenResult) -> OpenResult {
        var result = delivered
        result.requestID = request.id
        if case .queue(_, let id) = request.start { result.id = id }
        if request.isFallback, request.destination != nil, !request.isToBeStored { result.way = .fallback }
        if let asked = request.asked { open(asked, .success(result)) }
        request.observed?.end(.success(result))
        return result
    }

    /// Finishes a request that failed, and returns the error for the caller.
    private func answer(_ request: OpenRequest, _ error: OpenURLError) async -> OpenURLError {
        if let asked = request.asked { open(asked, .failure(error)) }
        var told = error
        if case .caller(let name) = request.start {
            let known = request.sender ?? request.originator
            let sender = if let known { known } else { await parts.callers.caller(name) }
            request.observed?.note { $0.source = $0.source ?? sender.source }
            if sender.callerClass.isConfined { told = error.forConfinedCallers }
        }
        request.observed?.end(.failure(error))
        return told
    }

    /// Withdraws a request that its caller has cancelled. If the request is between two places, there is nothing to do
    /// here: the next stage notices the cancellation.
    func withdraw(_ request: OpenRequest) {
        switch request.place {
        case .queue(let session): session.cancel(request)
        case .question(let place): parts.questions.giveUp(place)
        case .choice(let place): place.withdraw()
        case .application: request.stop?.abandon()
        case .command(let command):
            request.stop?.abandon()
            command.settled()
        case .arrivals, nil: break
        }
    }
}
