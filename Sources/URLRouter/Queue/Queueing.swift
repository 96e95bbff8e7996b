internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// URLs that are accepted now and delivered when that is possible.
extension URLRouter {
    /// Stores a URL for its handler, and returns when it is on the disk.
    ///
    /// - Throws: ``OpenURLError``: whatever can be told before a handler is asked, and `notQueued`.
    func enqueue(_ text: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> OpenResult {
        let url = try parse(text)
        let claimant = try claimant(for: scheme(of: url), host: url.host.map(String.init), options)
        guard let queue else {
            throw OpenURLError(.notQueued, "there is no directory for the queue; set HOME or XDG_STATE_HOME")
        }
        guard queue.count < limits.queued else {
            throw OpenURLError(.limitsExceeded, "\(queue.count) URLs are in the queue already")
        }
        return try await withRequest(of: caller) { () async throws(OpenURLError) in
            var context = OpenContext()
            context.source = await source(of: caller)
            let sender = sendingSession(context.source)
            if case .handler(let handler) = claimant { try checkSource(sender?.handler.id, mayOpen: handler) }
            context.sourceApplication = sender?.id.rawValue
            context.hops = try hops(from: context.source, sender)
            if queue.isClosed { throw OpenURLError(.notQueued, "the router is ending; try again") }
            let now = Self.milliseconds
            let delivery = Delivery(url: text, handler: claimant.id, options: options, context: context)
            let id: Int64
            do throws(DeliveryStore.Failure) {
                id = try await queue.store.accept(delivery, at: now)
            } catch {
                throw OpenURLError(.notQueued, error.description)
            }
            queue.add(DeliveryStore.Waiting(id: id, handler: claimant.id, due: now))
            deliverQueued()
            var result = OpenResult(handler: claimant.id, path: .queued, reply: [:], trace: [])
            result.id = "\(id)"
            return result
        }
    }

    /// Delivers what an earlier router has left, and what comes, from now on. Call it when the name is owned.
    public func startDeliveries() async {
        guard let queue else { return }
        var stored: [DeliveryStore.Waiting] = []
        do throws(DeliveryStore.Failure) {
            stored = try await queue.store.waiting()
        } catch {
            log.error("\(error)")
        }
        queue.start(with: stored, now: Self.milliseconds)
        deliverQueued()
    }

    /// Begins no delivery any more, and returns when those that are on their way have ended; then nothing is accepted for the
    /// queue, as the next router will have read it. Give the name back right after that.
    public func stopDeliveries() async {
        await queue?.stop()
    }

    /// Milliseconds since 1970.
    private static var milliseconds: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    private func deliverQueued() {
        guard let queue else { return }
        while let next = queue.next(now: Self.milliseconds, whenDue: { self.assumeIsolated { $0.deliverQueued() } }) {
            Task.immediate(executorPreference: loop) {
                let state = await self.deliver(next.id, next.handler, queue)
                queue.ended(next.handler)
                if let state { self.bus.announce(state, ofQueued: next.id) }
                self.deliverQueued()
            }
        }
    }

    /// Tries one delivery, and notes what became of it.
    ///
    /// - Returns: what that is; nil if there is nothing to deliver, or no telling.
    private func deliver(_ id: Int64, _ handler: String, _ queue: DeliveryQueue) async -> QueuedURL.State? {
        do throws(DeliveryStore.Failure) {
            guard let (delivery, attempt) = try await queue.store.begin(id) else { return nil }
            bus.announce(.delivering, ofQueued: id)
            do throws(OpenURLError) {
                try await open(delivery, id)
                try await settle(id, queue)
                return .delivered
            } catch {
                let delay = DeliverySchedule.delay(after: attempt, error.code)
                let due = delay.map { Self.milliseconds + Int64($0.components.seconds) * 1000 }
                let next = delay.map { "in \($0)" } ?? "never"
                log.warning(
                    "a queued URL was not delivered: \(error.message)",
                    metadata: ["id": "\(id)", "attempt": "\(attempt)", "next": "\(next)"]
                )
                try await queue.store.fail(id, error, due: due)
                if let due { queue.add(DeliveryStore.Waiting(id: id, handler: handler, due: due)) }
                return due == nil ? .dead : .waiting
            }
        } catch {
            // It is in the file, as far as there is one, and the next router tries it again.
            log.error("queued URL \(id): \(error)")
            return nil
        }
    }

    private func settle(_ id: Int64, _ queue: DeliveryQueue) async throws(OpenURLError) {
        do throws(DeliveryStore.Failure) {
            try await queue.store.succeed(id)
        } catch {
            throw OpenURLError(.notQueued, error.description)
        }
    }

    private func open(_ delivery: Delivery, _ id: Int64) async throws(OpenURLError) {
        let url = try parse(delivery.url)
        let options = delivery.options
        switch try claimant(for: scheme(of: url), host: url.host.map(String.init), options) {
        case .handler(let handler):
            var context = delivery.context
            context.requestID = "\(id)"
            _ = try await open(delivery.url, with: handler, options, from: .queue(context))
        case .application(let application):
            let timeout = options.timeout ?? limits.openTimeout
            var request = ApplicationRequest(delivery.url, application, options, timeout: timeout)
            request.hops = delivery.context.hops
            _ = try await open(request)
        }
    }

    // MARK: What a person sees and does

    func queuedURLs() async throws(RemoteError) -> [QueuedURL] {
        guard let queue else { return [] }
        var urls = try await asking { () async throws(DeliveryStore.Failure) in try await queue.store.list() }
        for index in urls.indices where Int64(urls[index].id).map(queue.isOnItsWay) == true {
            urls[index].state = .delivering
            urls[index].next = nil
        }
        return urls
    }

    func retryQueued(_ text: String) async throws(RemoteError) {
        let (queue, id) = try queued(text)
        // What is on its way is being tried already.
        if queue.isOnItsWay(id) { return }
        let now = Self.milliseconds
        let handler = try await asking { () async throws(DeliveryStore.Failure) in
            try await queue.store.retry(id, at: now)
        }
        guard let handler else { throw Self.notQueued(text) }
        queue.remove(id)
        queue.add(DeliveryStore.Waiting(id: id, handler: handler, due: now))
        deliverQueued()
    }

    func dropQueued(_ text: String) async throws(RemoteError) {
        let (queue, id) = try queued(text)
        guard try await asking({ () async throws(DeliveryStore.Failure) in try await queue.store.drop(id) }) else {
            throw Self.notQueued(text)
        }
        queue.remove(id)
    }

    private func queued(_ text: String) throws(RemoteError) -> (DeliveryQueue, Int64) {
        guard let queue, let id = Int64(text) else { throw Self.notQueued(text) }
        return (queue, id)
    }

    private static func notQueued(_ text: String) -> RemoteError {
        RemoteError(.invalidArguments, "there is no URL '\(text)' in the queue")
    }

    private func asking<Result: Sendable>(
        _ body: () async throws(DeliveryStore.Failure) -> Result
    ) async throws(RemoteError) -> Result {
        do throws(DeliveryStore.Failure) {
            return try await body()
        } catch {
            throw RemoteError(.failed, error.description)
        }
    }
}
