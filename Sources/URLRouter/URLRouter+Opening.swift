internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// The way of a URL from its sender to a handler, an application, or the queue.
extension URLRouter {
    /// Opens a URL for a caller and returns when the handler has said yes, or when the URL is stored for later.
    ///
    /// Without a handler for the URL, the URLs of `options.fallback` are tried in order. If none of them has a handler
    /// either, the error is about the URL that the sender wanted.
    ///
    /// - Parameters:
    ///   - bytes: the size of the call's arguments, which is counted to the caller's application; nil for the URL alone.
    ///   - stop: the caller's way to cancel; nil if the caller has none.
    ///   - copy: the copy in an inbox that the URL names; nil for a URL of the caller.
    ///   - waiting: the call that waits for the handler's answer; nil if the caller does not call.
    func open(
        _ url: String,
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int? = nil,
        stop: Stop? = nil,
        copy: InboxCopy? = nil,
        waiting: WaitingCall? = nil
    ) async throws(OpenURLError) -> OpenResult {
        let requestID = options.requestID?.rawValue ?? requestNames.next()
        let observed = monitor.observe(
            waiting == nil ? .open : .call,
            url,
            fallback: options.fallback,
            named: requestID
        )
        do throws(OpenURLError) {
            let call = RequestCall(
                options,
                caller: caller,
                bytes: bytes ?? url.utf8.count,
                requestID: requestID,
                stop: stop,
                copy: copy,
                waiting: waiting,
                observed: observed
            )
            waiting?.requestID = call.requestID
            var result = try await openFirst(url, call)
            // The number of a queued URL is its name, unless the caller gives one.
            let name = options.requestID == nil ? result.id ?? call.requestID : call.requestID
            result.requestID = result.requestID ?? name
            observed?.end(.success(result))
            return result
        } catch {
            let sender = await callers.caller(caller)
            if let observed {
                observed.note { $0.source = $0.source ?? sender.source }
                observed.end(.failure(error))
            }
            switch sender.callerClass {
            case .sandboxed, .remote: throw error.forConfinedCallers
            // A program that has gone gets no answer.
            case .user, .handler, .unknown: throw error
            }
        }
    }

    private func openFirst(_ url: String, _ call: RequestCall) async throws(OpenURLError) -> OpenResult {
        var noHandler: OpenURLError?
        for candidate in [url] + call.options.fallback {
            do throws(OpenURLError) {
                try call.stop?.check()
                if XCallbackURL.isReply(candidate) { return try await answerCall(candidate, call) }
                if !callbacks.claims.isEmpty, let result = try await answerCallback(candidate, call) { return result }
                if call.options.isQueued { return try await enqueue(candidate, call) }
                var result = try await openNow(candidate, call)
                if noHandler != nil { result.way = .fallback }
                return result
            } catch {
                guard error.code == .noHandler else { throw error }
                noHandler = noHandler ?? error
            }
        }
        throw noHandler ?? OpenURLError(.noHandler, "there is no URL")
    }

    private func openNow(_ text: String, _ call: RequestCall) async throws(OpenURLError) -> OpenResult {
        try await permitted(text, call) { (found, counted, check) async throws(OpenURLError) in
            var destination = found
            try call.waiting?.take(&destination)
            switch destination.claimant {
            case .handler(let handler) where handler.kind == .native:
                return try await open(destination, found.url, with: handler, call, counted, check)
            case .handler, .application:
                return try await openApplication(destination, call, counted, check)
            }
        }
    }

    private typealias Check = (Caller) throws(OpenURLError) -> Void

    // Thousands of requests may wait for a handler, and each keeps the variables of all functions on its way. Those of one
    // function are together, whichever branch the request takes, so each branch is a function that is not inlined.

    @inline(never) private func open(
        _ destination: Destination,
        _ url: GenericURL,
        with handler: Handler,
        _ call: RequestCall,
        _ counted: CountedRequest,
        _ check: Check
    ) async throws(OpenURLError) -> OpenResult {
        let session = sessions.obtain(for: handler)
        let request = session.makeRequest(.open(destination), call.options, call, account: counted.account)
        defer { if request.wasHandedOver { call.copy?.isHandedOver = true } }
        do throws(OpenURLError) {
            var result = try await call.during({ session.cancel(request) }) { () async throws(OpenURLError) in
                try await session.open(request) { () async throws(OpenURLError) in
                    try await complete(request, url, for: handler, session, call, counted, check)
                }
            }
            result.requestID = request.id
            if let asked = request.asked { answer(asked, .success(result)) }
            return result
        } catch {
            if let asked = request.asked { answer(asked, .failure(error)) }
            throw error
        }
    }

    /// Completes a request that has its place in the queue with the facts about its sender.
    @inline(never) private func complete(
        _ request: OpenRequest,
        _ url: GenericURL,
        for handler: Handler,
        _ session: HandlerSession,
        _ call: RequestCall,
        _ counted: CountedRequest,
        _ check: Check
    ) async throws(OpenURLError) {
        let sender = try await callers.caller(call.caller, of: counted)
        // The handler tells requests apart by their names, so a confined program does not choose one.
        if sender.callerClass.isConfined { request.id = requestNames.next() }
        try session.count(request, to: sender.account)
        var context = try callers.context(of: sender, for: [handler])
        try check(sender)
        request.asked = askedCallbacks(in: url, of: sender, call.caller, for: handler, context.hops)
        context.wantsReply = call.waiting != nil || request.asked != nil
        request.complete(context)
        request.cause = sender.cause
        request.caller = sender.pid
    }

    @inline(never) private func openApplication(
        _ destination: Destination,
        _ call: RequestCall,
        _ counted: CountedRequest,
        _ check: Check
    ) async throws(OpenURLError) -> OpenResult {
        let options = call.options
        let sender = try await callers.caller(call.caller, of: counted)
        let context = try callers.context(of: sender, for: registry.receivers(of: destination.claimant))
        try check(sender)
        let request = ApplicationRequest(
            destination.delivered,
            destination.claimant,
            registry.application(of: destination.claimant),
            options,
            hops: context.hops,
            caller: sender.pid,
            account: sender.account,
            timeout: options.timeout ?? destination.claimant.handler?.openTimeout ?? limits.openTimeout
        )
        request.observed = call.observed
        defer { if request.wasHandedOver { call.copy?.isHandedOver = true } }
        let result = try await call.during({ request.cancel(call.stop) }) { () async throws(OpenURLError) in
            try await applications.open(request)
        }
        // The application's window is in front now. A command may have none.
        if !options.inBackground, request.application != nil { sessions.host.clearForeground() }
        return result
    }

    /// Performs a request for a URL that the policy allows. If the person has to be asked first, the request gives its place up,
    /// and begins again after the answer.
    ///
    /// - Parameter body: performs the request; calls `check` when the sender is known, and throws what `check` throws.
    private func permitted<Result>(
        _ text: String,
        _ call: RequestCall,
        _ body: (
            _ destination: Destination,
            _ counted: CountedRequest,
            _ check: Check
        ) async throws(OpenURLError) -> Result
    ) async throws(OpenURLError) -> Result {
        try await callers.counting(call.caller, bytes: call.bytes, descriptors: call.descriptors) {
            counted async throws(OpenURLError) in
            var destination = try await destination(text, call.options, call.caller, of: counted, call.copy)
            /// The handler that the person has allowed.
            var allowed = call.copy?.handler
            while true {
                var dialog: PolicyDialog?
                do throws(OpenURLError) {
                    return try await body(destination, counted) { (sender) throws(OpenURLError) in
                        if let allowed, allowed == destination.claimant.id {
                            return try permissions.checkAfterQuestion(destination, from: sender.source)
                        }
                        dialog = try permissions.check(destination, from: sender, call.options) {
                            call.observed?.choose(destination, snapshot, call.options, from: sender.source, $0)
                        }
                        if let dialog { throw dialog.refusal("a person has to be asked") }
                    }
                } catch {
                    guard let dialog else { throw error }
                    try await ask(dialog, call)
                    allowed = destination.claimant.id
                    // The registry may have changed meanwhile.
                    destination = try await self.destination(text, call.options, call.caller, of: counted, call.copy)
                }
            }
        }
    }

    @inline(never) private func ask(_ dialog: PolicyDialog, _ call: RequestCall) async throws(OpenURLError) {
        let place = Questions.Place()
        try await call.during({ [questions] in questions.giveUp(place) }) { () async throws(OpenURLError) in
            try await questions.ask(dialog, place)
        }
    }

    /// Finds the destination of a URL for a caller. For a URL without a file, there is no change of tasks on the way, so that
    /// the order of arrival stays.
    ///
    /// - Parameters:
    ///   - counted: the request, which is counted to the caller; nil for a query.
    ///   - copy: the copy in an inbox that the URL names; nil for a URL of the caller.
    @inline(never) func destination(
        _ text: String,
        _ options: OpenOptions,
        _ caller: BusName?,
        of counted: CountedRequest? = nil,
        _ copy: InboxCopy? = nil
    ) async throws(OpenURLError) -> Destination {
        let url = try GenericURL(ofCaller: text, options)
        guard Scheme(of: url) == .file else { return try Destination(url, in: registry, for: options) }
        let sender: Caller
        if let counted {
            sender = try await callers.caller(caller, of: counted)
        } else {
            sender = await callers.caller(caller)
        }
        let file = try await files.kind(of: url, options, for: sender.account, sender.callerClass)
        return try Destination(url, in: registry, for: options, file: file, isInInbox: copy != nil)
    }

    // MARK: The queue

    /// Stores a URL for its handler, and returns when the URL is on the disk.
    ///
    /// - Throws: every error that is known before a handler is asked, and `notQueued`.
    private func enqueue(
        _ text: String,
        _ call: RequestCall
    ) async throws(OpenURLError) -> OpenResult {
        guard let deliveries else {
            throw OpenURLError(.notQueued, "there is no directory for the queue; set HOME or XDG_STATE_HOME")
        }
        guard call.descriptors == 0 else {
            throw OpenURLError(.notQueued, "the annotation holds a descriptor, which cannot be stored")
        }
        return try await permitted(text, call) { (destination, counted, check) async throws(OpenURLError) in
            let handler = destination.claimant.id
            var stored = call.options
            stored.handleToken = nil
            let id = try await deliveries.accept { () async throws(OpenURLError) in
                let sender = try await callers.caller(call.caller, of: counted)
                let context = try callers.context(of: sender, for: registry.receivers(of: destination.claimant))
                try check(sender)
                try call.stop?.check()
                if sender.callerClass.isConfined { stored.requestID = nil }
                stored.permission = permissions.mark(of: destination, from: sender.source)
                return Delivery(url: destination.url.description, handler: handler, options: stored, context: context)
            }
            call.copy?.isHandedOver = true
            var result = OpenResult(handler: handler, way: .queued, reply: [:], trace: [])
            result.id = "\(id)"
            if stored.requestID == nil { result.requestID = result.id }
            return result
        }
    }

    /// Tries a delivery of the queue once, and shows the attempt to those who watch.
    func attempt(
        _ delivery: Delivery,
        named name: String,
        _ number: Int
    ) async -> DeliveryScheduler.AttemptResult {
        let observed = monitor.observe(.attempt, delivery.url, named: delivery.options.requestID?.rawValue ?? name)
        observed?.note {
            $0.attempt = UInt32(clamping: number)
            $0.handler = delivery.handler
            $0.source = delivery.context.source
        }
        let result = await open(delivery, named: name, observed)
        switch result {
        case .delivered(let result): observed?.end(.success(result))
        case .failed(let error, wasHandedOver: _): observed?.end(.failure(error))
        }
        return result
    }

    /// Tries a delivery once. The registry may have changed since the URL was accepted.
    ///
    /// - Parameters:
    ///   - name: the number of the delivery in the queue, or the name of the request.
    ///   - observed: the request as others see it; nil if nobody looks.
    func open(
        _ delivery: Delivery,
        named name: String,
        _ observed: Observation?
    ) async -> DeliveryScheduler.AttemptResult {
        let destination: Destination
        do throws(OpenURLError) {
            let url = try GenericURL(ofCaller: delivery.url, delivery.options)
            let callerClass = delivery.context.source.callerClass.known ?? .unknown
            let file =
                Scheme(of: url) == .file
                ? try await files.kind(of: url, delivery.options, for: delivery.caller, callerClass)
                : nil
            destination = try Destination(
                url,
                in: registry,
                for: delivery.options,
                file: file,
                isInInbox: inboxes.holds(url, of: delivery.options.handler)
            )
            try permissions.check(delivery, to: destination) {
                observed?.choose(destination, snapshot, delivery.options, from: delivery.context.source, $0)
            }
        } catch {
            return .failed(error, wasHandedOver: false)
        }
        var options = delivery.options
        // Other deliveries wait behind this one, and their senders did not ask for more patience than usual.
        let usual = destination.claimant.handler?.openTimeout ?? limits.openTimeout
        options.timeout = min(options.timeout ?? usual, usual)
        switch destination.claimant {
        case .handler(let handler) where handler.kind == .native:
            var context = delivery.context
            // The process and the connection may belong to another program by now.
            context.source.pid = nil
            context.source.uniqueName = nil
            let session = sessions.obtain(for: handler)
            let request = session.makeRequest(.open(destination), options, account: delivery.caller)
            request.id = delivery.options.requestID?.rawValue ?? name
            request.observed = observed
            request.endsAtDeadline = delivery.options.timeout != nil
            do throws(OpenURLError) {
                var result = try await session.open(request) { () async throws(OpenURLError) in
                    try callers.check(context, for: [handler])
                    request.complete(context)
                }
                result.id = name
                result.requestID = request.id
                return .delivered(result)
            } catch {
                return .failed(error, wasHandedOver: request.wasHandedOver)
            }
        case .handler, .application:
            let hops = delivery.context.hops
            let timeout = options.timeout ?? usual
            let request = ApplicationRequest(
                destination.url,
                destination.claimant,
                registry.application(of: destination.claimant),
                options,
                hops: hops,
                account: delivery.caller,
                timeout: timeout
            )
            request.observed = observed
            do throws(OpenURLError) {
                try callers.check(delivery.context, for: registry.receivers(of: destination.claimant))
                var result = try await applications.open(request)
                result.id = name
                result.requestID = delivery.options.requestID?.rawValue ?? name
                return .delivered(result)
            } catch {
                return .failed(error, wasHandedOver: request.wasHandedOver)
            }
        }
    }

    /// Delivers the URLs of the queue from now on, those that an earlier router left included. Call it when the name is owned.
    public func startDeliveries() async {
        await deliveries?.run()
    }

    /// Refuses the questions that wait for the person, and ends the calls, the claims on callbacks and the deliveries.
    ///
    /// The method returns when the deliveries in progress have ended and every accepted URL is stored. Release the name right after
    /// that: the next router reads the queue when it starts.
    public func stopDeliveries() async {
        questions.stop()
        calls.stop()
        await callbacks.stop()
        await deliveries?.stop()
    }

    /// Gives up the deliveries in progress, whose attempts do not count. Call it when the bus has ended: the next router makes
    /// the attempts again.
    public func abandonDeliveries() async {
        await deliveries?.abandon()
    }

    /// The queued URLs that a caller may know of: a program of the user knows all, and any other program its own.
    func queuedURLs(after id: String = "", caller: BusName?) async throws(RemoteError) -> [QueuedURL] {
        try await deliveries?.list(after: id, of: await ownAccount(of: caller)) ?? []
    }

    func retryQueued(_ id: String, caller: BusName?) async throws(RemoteError) {
        guard let deliveries else { throw .noSuchDelivery(id) }
        try await deliveries.retry(id, of: await ownAccount(of: caller))
    }

    func dropQueued(_ id: String, caller: BusName?) async throws(RemoteError) {
        guard let deliveries else { throw .noSuchDelivery(id) }
        try await deliveries.drop(id, of: await ownAccount(of: caller))
    }

    /// The outcome of a queued URL that a caller may know of. Waits for the outcome if necessary.
    func outcome(ofQueued number: UInt64, caller: BusName?) async throws -> OpenResult {
        guard let deliveries else { throw RemoteError.noSuchDelivery("\(number)") }
        let known = await callers.caller(caller)
        return try await deliveries.outcome(of: number, await ownAccount(of: caller), countedTo: known.account) {
            left in
            guard let caller else { return {} }
            // The closures run on the event loop, which is the router's executor.
            nonisolated(unsafe) let left = left
            let watch = try await bus.watchOwner(of: caller) { _, new in if new == nil { left() } }
            // The connection may have ended before the watch began.
            if try await bus.owner(of: caller) == nil { left() }
            return { [bus] in bus.unwatchOwner(watch) }
        }
    }

    /// The account that a caller's rights to the queue are limited to; nil without a limit.
    private func ownAccount(of caller: BusName?) async -> String? {
        let caller = await callers.caller(caller)
        if caller.callerClass == .user { return nil }
        // Sandboxes without an identifier share an account and cannot be told apart, so none of them owns a URL.
        return caller.source.application == nil ? "" : caller.account
    }
}

extension Registry {
    /// The handlers that may refuse the sender of a URL for a claimant: the claimant itself, and the handler whose name on the bus
    /// the URL goes to, if an application has the name of a handler.
    func receivers(of claimant: Claimant) -> [Handler] {
        var receivers = claimant.handler.map { [$0] } ?? []
        if let application = application(of: claimant), application.isDBusActivatable,
            let named = application.busName.flatMap(handler(named:)), named.id != claimant.handler?.id
        {
            receivers.append(named)
        }
        return receivers
    }

    /// The desktop entry of the application that gets the URLs of a claimant; nil for a handler with a program of its own.
    fileprivate func application(of claimant: Claimant) -> DesktopEntry? {
        switch claimant {
        case .application(let entry): entry
        case .handler(let handler): handler.desktopEntry.flatMap { applications[$0] }
        }
    }
}
