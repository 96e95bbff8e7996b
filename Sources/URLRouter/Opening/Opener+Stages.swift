internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// The work done in the stages.
extension Opener {
    /// Returns the claims of programs that wait for a URL; none if the URL takes its usual route.
    func claims(on url: GenericURL, _ request: OpenRequest) throws(OpenURLError) -> [CallbackClaim] {
        switch request.start {
        case .queue, .router: return []
        case .caller: return request.options.handler == nil ? parts.callbacks.claims(on: url) : []
        case .callback(let asked):
            switch parts.callbacks.place(of: url, asked.source, asked.connection) {
            case nil: throw OpenURLError(.notAllowed, "the sender of the URL no longer has the scheme of the callback")
            case .claimant(let id):
                request.options.handler = id
                return []
            case .claims(let all): return all
            }
        }
    }

    /// Returns the program that waits for a URL; nil if the URL takes its usual route.
    func receiver(
        of url: GenericURL,
        _ request: OpenRequest,
        among claims: [CallbackClaim]
    ) async throws(OpenURLError) -> Receiver? {
        let sender = try await sender(of: request)
        do throws(OpenURLError) {
            return try claim(for: url, request, from: sender, among: claims)
        } catch {
            parts.callbacks.tellRefusal(of: url, error)
            // A callback goes back only to the sender of the URL that asked for it.
            if case .callback = request.start { throw error }
            // A confined program must not learn that another program is waiting, so its URL goes wherever it would have
            // gone without the claim.
            guard !sender.callerClass.isConfined else { return nil }
            throw error
        }
    }

    private func claim(
        for url: GenericURL,
        _ request: OpenRequest,
        from sender: Caller,
        among claims: [CallbackClaim]
    ) throws(OpenURLError) -> Receiver? {
        let claim = try parts.callbacks.claims.claim(for: url, from: sender.source, among: claims)
        if case .callback(let asked) = request.start, claim?.owner != asked.connection {
            throw OpenURLError(.notAllowed, "another program is waiting for the callback")
        }
        guard let claim else { return nil }
        request.observed?.note {
            $0.kind = .callback
            $0.source = sender.source
        }
        try parts.permissions.checkCallback(url, from: sender.source)
        return .claim(claim, url)
    }

    /// Finds the receiver of a URL that no program waits for.
    func receiver(at place: Destination, _ request: OpenRequest) throws(OpenURLError) -> Receiver {
        var destination = place
        try request.waiting?.take(&destination)
        request.destination = destination
        if request.isToBeStored { return .store(try store(for: request)) }
        switch destination.claimant {
        case .handler(let handler) where handler.kind == .native: return .handler(parts.sessions.obtain(for: handler))
        case .handler, .application: return .application
        }
    }

    /// Looks up the sender, and charges its application for the request.
    func findSender(of request: OpenRequest) async throws(OpenURLError) {
        if request.sender != nil { return }
        if let originator = request.originator { return try take(originator, for: request) }
        let name = if case .caller(let name) = request.start { name } else { nil as BusName? }
        if try takeKnownSender(name, for: request) { return }
        try take(await parts.callers.caller(name), for: request)
    }

    /// Looks up the sender.
    func sender(of request: OpenRequest) async throws(OpenURLError) -> Caller {
        try await findSender(of: request)
        guard let sender = request.sender else { throw .withdrawn }
        return sender
    }

    /// Notes the sender if it can be looked up without waiting.
    ///
    /// - Returns: whether it could.
    private func takeKnownSender(_ name: BusName?, for request: OpenRequest) throws(OpenURLError) -> Bool {
        guard let sender = parts.callers.knownCaller(name) else { return false }
        try take(sender, for: request)
        return true
    }

    /// Notes the sender, and charges its application for the request.
    private func take(_ sender: Caller, for request: OpenRequest) throws(OpenURLError) {
        if sender.account != request.account {
            let session = if case .queue(let session) = request.place { session } else { nil as HandlerSession? }
            session?.requests.uncount(request)
            try parts.callers.move(&request.load, to: sender.account)
            try session?.count(request, to: sender.account)
        }
        request.sender = sender
    }

    /// Decides whether a URL may go to a handler or an application: first according to their manifests, and then
    /// according to the policy.
    func decide(_ request: OpenRequest, from sender: Caller) -> Decision {
        guard let destination = request.destination else { return .refuse(.withdrawn) }
        do throws(OpenURLError) {
            request.context = try context(of: request, from: sender, to: destination)
        } catch {
            return .refuse(error)
        }
        let permissions = parts.permissions
        if request.allowed == destination.claimant.id {
            return permissions.decisionAfterQuestion(on: destination, from: sender.source)
        }
        let verdict = permissions.verdict(on: destination, from: sender.source)
        request.observed?.choose(
            destination,
            parts.handlers.snapshot,
            handler: request.options.handler,
            desktopEntry: request.options.desktopEntry,
            from: sender.source,
            verdict
        )
        if case .queue(let delivery, _) = request.start {
            return permissions.decision(verdict, on: destination, of: delivery)
        }
        return permissions.decision(verdict, on: destination, from: sender, request.options)
    }

    /// Checks a delivery from another host before anything is looked up, so that the host does not learn what is installed.
    ///
    /// - Throws: `notAllowed`.
    func checkScheme(of delivery: Delivery) throws(OpenURLError) {
        let url = try GenericURL(ofCaller: delivery.url, desktopEntry: delivery.options.desktopEntry)
        try parts.permissions.checkScheme(
            of: url,
            from: delivery.context.source,
            namingHandler: delivery.options.handler != nil
        )
    }

    /// Decides about a delivery as its attempt would, without delivering it. Nobody is asked which program opens a link.
    ///
    /// - Returns: the identifier of the handler or application that would get it, perhaps after a question to the user, or
    ///   the reason why none would.
    func receiver(of delivery: Delivery) async -> Result<String, OpenURLError> {
        let start = OpenRequest.Start.queue(delivery, id: "")
        let request = OpenRequest(delivery.url, delivery.options, from: start, named: "", observed: nil)
        let sender = Caller(delivery.context.source)
        request.isForecast = true
        request.sender = sender
        request.account = delivery.caller
        do throws(OpenURLError) {
            let url = try GenericURL(ofCaller: delivery.url, desktopEntry: delivery.options.desktopEntry)
            let destination = try await parts.destinations.destination(of: url, request, from: sender)
            request.destination = destination
            if case .refuse(let error) = decide(request, from: sender) { return .failure(error) }
            return .success(destination.claimant.id)
        } catch {
            return .failure(error)
        }
    }

    func decide(_ request: OpenRequest, from sender: Caller, answering url: GenericURL) -> Decision {
        request.observed?.note {
            $0.kind = .callback
            $0.source = sender.source
        }
        return parts.calls.decision(on: url, from: sender)
    }

    /// Returns the context that goes to the handler with the URL.
    ///
    /// - Throws: `notAllowed` if the handler accepts nothing from this sender, `loopDetected` if too many handlers have
    ///   opened URLs in a row.
    private func context(
        of request: OpenRequest,
        from sender: Caller,
        to destination: Destination
    ) throws(OpenURLError) -> OpenContext {
        let snapshot = parts.handlers.snapshot
        let receivers = snapshot.registry.receivers(of: destination.claimant)
        switch request.start {
        case .queue(let delivery, _):
            try parts.callers.check(delivery.context, for: receivers)
            var context = delivery.context
            // By now, the process and the connection may belong to another program.
            context.source.pid = nil
            context.source.uniqueName = nil
            return context
        case .callback(let asked):
            return try parts.callers.context(of: sender, for: receivers, after: asked.hops)
        case .caller, .router:
            return try parts.callers.context(of: sender, for: receivers)
        }
    }

    func deliverToApplication(_ request: OpenRequest) async throws(OpenURLError) -> OpenResult {
        guard let destination = request.destination else { throw .withdrawn }
        request.place = .application
        let application = parts.handlers.registry.application(of: destination.claimant)
        if destination.isProven, let handler = destination.claimant.handler {
            parts.provenLinks.note(destination.url, for: handler)
        }
        let result: OpenResult
        do throws(OpenURLError) {
            result = try await parts.applications.open(ApplicationRequest(request, destination, application))
        } catch {
            guard let usual = parts.links.instead(of: destination, after: error) else { throw error }
            request.destination = usual
            request.wasHandedOver = false
            // The decision about the other program does not hold for this one.
            guard let sender = request.sender, case .go = decide(request, from: sender) else { throw error }
            return try await deliverToApplication(request)
        }
        // The application's window is now in front. A command may not have one.
        if !request.options.inBackground, application != nil { parts.sessions.shared.clearForeground() }
        return result
    }

    func store(for request: OpenRequest) throws(OpenURLError) -> DeliveryScheduler {
        guard let deliveries = parts.deliveries else {
            throw OpenURLError(.notQueued, "there is no directory for the queue; set HOME or XDG_STATE_HOME")
        }
        guard request.load.descriptors == 0 else {
            throw OpenURLError(.notQueued, "the annotation has a descriptor, which cannot be stored")
        }
        return deliveries
    }

    /// Stores a URL for its handler, and returns as soon as it is on disk.
    func store(
        _ request: OpenRequest,
        in deliveries: DeliveryScheduler
    ) async throws(OpenURLError) -> OpenResult {
        guard let destination = request.destination, let sender = request.sender,
            case .arrivals(let place) = request.place
        else { throw .withdrawn }
        var options = request.options
        options.handleToken = nil
        // By then, the user is doing something else.
        if options.deliveryTime != nil || options.notification != nil {
            (options.activationToken, options.desktopStartupID) = (nil, nil)
        }
        if sender.callerClass.isConfined { options.requestID = nil }
        options.permission = parts.permissions.mark(of: destination, from: sender.source)
        let handler = destination.claimant.id
        // The rules for links change the URL again at each attempt, so store it as it arrived.
        let url = try GenericURL(ofCaller: request.url, desktopEntry: options.desktopEntry)
        let delivery = Delivery(
            url: url.description,
            handler: handler,
            options: options,
            context: request.context
        )
        return try await accept(delivery, of: request, at: place, in: deliveries)
    }

    /// Decides whether a URL may go to another host, which decides on its own what to do with it.
    func decide(_ request: OpenRequest, from sender: Caller, to host: HostName, _ url: GenericURL) -> Decision {
        do throws(OpenURLError) {
            try parts.checkHost(host, sender)
            try parts.permissions.checkCallback(url, from: sender.source)
            request.context = try parts.callers.context(of: sender, for: [])
        } catch {
            return .refuse(error)
        }
        request.observed?.note { $0.source = sender.source }
        return .go
    }

    /// Stores a URL for another host, and returns as soon as it is on disk.
    func store(
        _ request: OpenRequest,
        _ url: GenericURL,
        to host: HostName,
        in deliveries: DeliveryScheduler
    ) async throws(OpenURLError) -> OpenResult {
        guard case .arrivals(let place) = request.place else { throw .withdrawn }
        var options = request.options
        (options.handleToken, options.activationToken, options.desktopStartupID) = (nil, nil, nil)
        options.lifetime = min(options.lifetime ?? HostsInterface.longestLifetime, HostsInterface.longestLifetime)
        let delivery = Delivery(
            url: url.description,
            handler: Hosts.handlerMark + host.rawValue,
            options: options,
            context: request.context
        )
        return try await accept(delivery, of: request, at: place, in: deliveries)
    }

    /// Stores a delivery when its turn has come.
    private func accept(
        _ delivery: Delivery,
        of request: OpenRequest,
        at place: ArrivalOrder.Place,
        in deliveries: DeliveryScheduler
    ) async throws(OpenURLError) -> OpenResult {
        await deliveries.arrivals.turn(of: place)
        // After leaving, the next request can continue, but not until this one suspends.
        leave(request)
        let id = try await deliveries.accept(delivery)
        request.wasHandedOver = true
        if delivery.options.requestID == nil { request.id = "\(id)" }
        var result = OpenResult(handler: delivery.handler, way: .queued, reply: [:], trace: [])
        result.id = "\(id)"
        return result
    }
}
