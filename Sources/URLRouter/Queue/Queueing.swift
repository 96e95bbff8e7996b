internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry

/// URLs that are accepted now and delivered when that is possible.
extension URLRouter {
    /// Stores a URL for its handler, and returns when it is on the disk.
    ///
    /// - Throws: `OpenURLError`: whatever can be told before a handler is asked, and `notQueued`.
    func enqueue(_ text: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> OpenResult {
        let url = try parse(text)
        let claimant = try claimant(for: scheme(of: url), host: url.host.map(String.init), options)
        guard let queue else {
            throw OpenURLError(.notQueued, "there is no directory for the queue; set HOME or XDG_STATE_HOME")
        }
        return try await withRequest(of: caller) { () async throws(OpenURLError) in
            var context = OpenContext()
            context.source = await source(of: caller)
            let sender = sendingSession(context.source)
            if case .handler(let handler) = claimant { try checkSource(sender?.handler.id, mayOpen: handler) }
            context.sourceApplication = sender?.id.rawValue
            context.hops = try hops(from: context.source, sender)
            if queue.isClosed { throw OpenURLError(.notQueued, "the router is ending; try again") }
            let delivery = Delivery(url: text, handler: claimant.id, options: options, context: context)
            queue.beginAccepting()
            defer { queue.endAccepting() }
            let id: Int64
            do throws(DeliveryStore.Failure) {
                id = try await queue.store.accept(delivery, at: Self.milliseconds)
            } catch {
                throw OpenURLError(error.isFull ? .limitsExceeded : .notQueued, error.description)
            }
            queue.add(id, for: claimant.id)
            deliverQueued()
            var result = OpenResult(handler: claimant.id, path: .queued, reply: [:], trace: [])
            result.id = "\(id)"
            return result
        }
    }

    /// Delivers what an earlier router has left, and what comes, from now on. Call it when the name is owned.
    ///
    /// Where another router of the same user does that, on another bus, this one waits until it has ended.
    public func startDeliveries() async {
        guard let queue, queue.mayStart else { return }
        do throws(DeliveryStore.Failure) {
            if let stored = try await queue.store.waiting() {
                let now = Self.milliseconds
                for delivery in stored {
                    queue.add(delivery.id, for: delivery.handler, in: .milliseconds(delivery.due - now))
                }
                queue.start()
                return deliverQueued()
            }
            log.notice("another router of this user delivers what is queued")
        } catch {
            log.error("\(error)")
        }
        loop.schedule(at: .now + Self.pause) {
            Task.immediate(executorPreference: self.loop) { await self.startDeliveries() }
        }
    }

    /// How long the queue is left alone when it cannot be used.
    private static let pause = Duration.seconds(60)

    /// Begins no delivery any more, and returns when those that are on their way have ended; then nothing is accepted for the
    /// queue, as the next router will have read it. Give the name back right after that.
    public func stopDeliveries() async {
        guard let queue else { return }
        await queue.stop()
        await queue.store.giveBack()
    }

    /// Milliseconds since 1970.
    private static var milliseconds: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    private func deliverQueued() {
        guard let queue else { return }
        while let next = queue.next(whenDue: { self.assumeIsolated { $0.deliverQueued() } }) {
            Task.immediate(executorPreference: loop) {
                let outcome = await self.deliver(next.id, queue)
                queue.ended(next.handler)
                if case .again(let time) = outcome { queue.add(next.id, for: next.handler, in: time) }
                if let state = outcome.state { self.bus.announce(state, ofQueued: next.id) }
                self.deliverQueued()
            }
        }
    }

    /// What became of an attempt.
    enum DeliveryAttempt {
        case delivered
        case again(Duration)
        case dead
        /// It is not in the queue any more.
        case gone

        var state: QueuedURL.State? {
            switch self {
            case .delivered: .delivered
            case .again: .waiting
            case .dead: .dead
            case .gone: nil
            }
        }
    }

    /// Tries one delivery, and notes what became of it.
    private func deliver(_ id: Int64, _ queue: DeliveryQueue) async -> DeliveryAttempt {
        do throws(DeliveryStore.Failure) {
            if queue.outcomes[id] == nil {
                guard let (delivery, attempt) = try await queue.store.begin(id) else { return .gone }
                bus.announce(.delivering, ofQueued: id)
                queue.outcomes[id] = await outcome(of: delivery, id, attempt)
            }
            // What a handler has had is not handed over again because the disk was full for a while.
            guard let outcome = queue.outcomes[id] else { return .gone }
            switch outcome {
            case .delivered: try await queue.store.succeed(id)
            case .failed(let error, let delay, let counts):
                let due = delay.map { Self.milliseconds + Int64($0 / .milliseconds(1)) }
                guard try await queue.store.fail(id, error, due: due, counts: counts) else {
                    queue.outcomes[id] = nil
                    return .gone
                }
            }
            queue.outcomes[id] = nil
            return outcome.attempt
        } catch {
            // It is in the file, as far as there is one.
            log.error("queued URL \(id): \(error)")
            return .again(Self.pause)
        }
    }

    private func outcome(of delivery: Delivery, _ id: Int64, _ attempt: Int) async -> DeliveryQueue.Outcome {
        let handover = Handover()
        do throws(OpenURLError) {
            try await open(delivery, id, handover)
            return .delivered
        } catch {
            // Whoever crashes too often is not started at all for a while, which is no attempt.
            let quarantine = error.code == .launchFailed ? quarantine(of: delivery.handler) : nil
            // What has taken too long may be done all the same.
            let isLate = error.code == .timedOut && handover.isDone
            let delay = quarantine ?? (isLate ? nil : DeliverySchedule.delay(after: attempt, error.code))
            let next = delay.map { "in \($0)" } ?? "never"
            log.warning(
                "a queued URL was not delivered: \(error.message)",
                metadata: ["id": "\(id)", "attempt": "\(attempt)", "next": "\(next)"]
            )
            return .failed(error, delay: delay, counts: quarantine == nil)
        }
    }

    private func quarantine(of handler: String) -> Duration? {
        guard let id = BusName(handler), let left = sessions[id]?.crashes.quarantine(at: .now) else { return nil }
        return left + .milliseconds(1)
    }

    private func open(_ delivery: Delivery, _ id: Int64, _ handover: Handover) async throws(OpenURLError) {
        let url = try parse(delivery.url)
        var options = delivery.options
        let claimant = try claimant(for: scheme(of: url), host: url.host.map(String.init), options)
        // Others wait behind it, who did not ask for more patience than usual.
        let usual = claimant.handler?.manifest.openTimeout ?? limits.openTimeout
        options.timeout = min(options.timeout ?? usual, usual)
        switch claimant {
        case .handler(let handler):
            var context = delivery.context
            context.requestID = "\(id)"
            // By now they may be somebody else's.
            context.source.pid = nil
            context.source.uniqueName = nil
            _ = try await open(delivery.url, with: handler, options, from: .queue(context, handover))
        case .application(let application):
            var request = ApplicationRequest(delivery.url, application, options, timeout: options.timeout ?? usual)
            request.hops = delivery.context.hops
            request.handover = handover
            _ = try await open(request)
        }
    }

    // MARK: What a person sees and does

    /// The next URLs of the queue after one; after an empty text the first ones.
    func queuedURLs(after text: String = "") async throws(RemoteError) -> [QueuedURL] {
        guard let queue else { return [] }
        guard let id = text.isEmpty ? 0 : Int64(text) else { throw Self.notQueued(text) }
        var urls = try await asking { () async throws(DeliveryStore.Failure) in
            try await queue.store.list(after: id, limit: QueueInterface.pageSize)
        }
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
        let handler = try await asking { () async throws(DeliveryStore.Failure) in
            try await queue.store.retry(id, at: Self.milliseconds)
        }
        guard let handler else { throw Self.notQueued(text) }
        queue.add(id, for: handler)
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
