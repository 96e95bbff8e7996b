internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// The work done in the stages.
extension Opener {
    /// Returns the call or the program that waits for a URL; nil if the URL takes its usual route.
    func waiting(for url: GenericURL, _ request: OpenRequest) async throws(OpenURLError) -> Receiver? {
        let claims: [CallbackClaim]
        switch request.start {
        case .queue, .router: return nil
        case .caller:
            if Scheme(of: url) == .reply { return .call(url) }
            claims = request.options.handler == nil ? parts.callbacks.claims(on: url) : []
        case .callback(let asked):
            switch parts.callbacks.place(of: url, asked.source, asked.connection) {
            case nil: throw OpenURLError(.notAllowed, "the sender of the URL no longer has the scheme of the callback")
            case .claimant(let id):
                request.options.handler = id
                return nil
            case .claims(let all): claims = all
            }
        }
        if claims.isEmpty { return nil }
        let sender = try await sender(of: request)
        do throws(OpenURLError) {
            return try claim(for: url, request, from: sender, among: claims)
        } catch {
            parts.callbacks.tellRefusal(of: url, error)
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

    /// Finds out who claims a URL.
    func destination(of url: GenericURL, _ request: OpenRequest) async throws(OpenURLError) -> Destination {
        var file: FileKind?
        var isInInbox = request.inbox != nil
        if Scheme(of: url) == .file {
            let sender = try await sender(of: request)
            file = try await parts.files.kind(of: url, request.options, for: request.account, sender.callerClass)
            if case .queue(let delivery, _) = request.start {
                isInInbox = parts.inboxes.holds(url, of: delivery.options.handler)
            }
        }
        if let handler = try await provenHandler(for: url, request) { return Destination(url, provenFor: handler) }
        return try Destination(
            url,
            in: parts.handlers.registry,
            for: request.options,
            file: file,
            isInInbox: isInInbox
        )
    }

    /// Returns the handler that gets a link instead of the browser; nil for every other URL.
    private func provenHandler(for url: GenericURL, _ request: OpenRequest) async throws(OpenURLError) -> Handler? {
        let options = request.options
        guard !options.inBrowser, parts.provenLinks.concern(url),
            parts.handlers.registry.claimant(wantedBy: options, for: url, nil) == nil
        else { return nil }
        let origin =
            if case .queue(let delivery, _) = request.start { delivery.context.sourceApplication } else {
                nil as String?
            }
        return parts.provenLinks.handler(for: url, from: try await sender(of: request), origin: origin)
    }

    /// Looks up the sender, and charges its application for the request.
    func sender(of request: OpenRequest) async throws(OpenURLError) -> Caller {
        if let sender = request.sender { return sender }
        let name = if case .caller(let name) = request.start { name } else { nil as BusName? }
        let sender = await parts.callers.caller(name)
        if sender.account != request.account {
            let session = if case .queue(let session) = request.place { session } else { nil as HandlerSession? }
            session?.requests.uncount(request)
            try parts.callers.move(&request.load, to: sender.account)
            try session?.count(request, to: sender.account)
        }
        request.sender = sender
        return sender
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

    /// Decides about a delivery as its attempt would, without delivering it.
    ///
    /// - Returns: the identifier of the handler or application that would get it, perhaps after a question to the user, or
    ///   the reason why none would.
    func receiver(of delivery: Delivery) async -> Result<String, OpenURLError> {
        let start = OpenRequest.Start.queue(delivery, id: "")
        let request = OpenRequest(delivery.url, delivery.options, from: start, named: "", observed: nil)
        let sender = Caller(delivery.context.source)
        request.sender = sender
        request.account = delivery.caller
        do throws(OpenURLError) {
            let url = try GenericURL(ofCaller: delivery.url, desktopEntry: delivery.options.desktopEntry)
            let destination = try await destination(of: url, request)
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
        let receivers = parts.handlers.registry.receivers(of: destination.claimant)
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
        let result = try await parts.applications.open(ApplicationRequest(request, destination, application))
        // The application's window is now in front. A command may not have one.
        if !request.options.inBackground, application != nil { parts.sessions.host.clearForeground() }
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
        let delivery = Delivery(
            url: destination.url.description,
            handler: handler,
            options: options,
            context: request.context
        )
        await deliveries.arrivals.turn(of: place)
        // After leaving, the next request can continue, but not until this one suspends.
        leave(request)
        let id = try await deliveries.accept(delivery)
        request.wasHandedOver = true
        if options.requestID == nil { request.id = "\(id)" }
        var result = OpenResult(handler: handler, way: .queued, reply: [:], trace: [])
        result.id = "\(id)"
        return result
    }
}
