internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// The connector of UnifiedPush for all handlers: registers them with distributors, stores the pushes that arrive, and
/// delivers them.
///
/// A push is acknowledged when it is on disk in the queue of URLs, which delivers it with `attempt`. It
/// belongs to the router's actor.
final class Pushes: DeliveryReceiver {
    let handlers: KnownHandlers
    let sessions: HandlerSessions
    let callers: Callers
    let bus: any BusNames
    /// Nil in tests without a bus.
    let distributors: Distributors?
    private let monitor: Monitor
    private let attempts: WakingAttempts
    /// Nil if there is nowhere to store registrations.
    private let store: PushStore?
    /// Stores a push for its delivery, and returns when it is on disk.
    private let accept: (Delivery) async throws(OpenURLError) -> Void
    /// Opens a URL from the queue, for a handler whose manifest names one.
    private let open: (Delivery, _ id: Int64, _ attempt: Int) async -> DeliveryAttempts.Result

    /// Registrations by their tokens.
    var registrations: [String: StoredRegistration] = [:]
    /// Whether the registrations of earlier routers are known.
    private var isLoaded = false
    /// The latest repetitions of registrations with distributors that have appeared.
    var renewals: [BusName: Task<Void, Never>] = [:]
    /// Waits until the registrations are read again, because another router still has them.
    let retry: RestartableTimer
    private(set) var isStopped = false
    /// Calls that wait for the endpoint of a token.
    var waiters: [String: [EndpointWaiter]] = [:]

    init(
        _ handlers: KnownHandlers,
        _ sessions: HandlerSessions,
        _ callers: Callers,
        _ bus: any BusNames,
        _ distributors: Distributors?,
        _ monitor: Monitor,
        _ store: PushStore?,
        accept: @escaping (Delivery) async throws(OpenURLError) -> Void,
        open: @escaping (Delivery, Int64, Int) async -> DeliveryAttempts.Result
    ) {
        self.handlers = handlers
        self.sessions = sessions
        self.callers = callers
        self.bus = bus
        self.distributors = distributors
        self.monitor = monitor
        attempts = WakingAttempts(sessions, monitor)
        retry = RestartableTimer(on: sessions.shared.loop)
        self.store = store
        self.accept = accept
        self.open = open
    }

    var log: Logger { sessions.shared.log }

    // MARK: The registrations

    /// Reads the registrations of earlier routers, unless they are known. Without them, the router would not know the
    /// pushes' tokens.
    ///
    /// - Parameter toChange: whether they will be changed.
    /// - Throws: `failed` with the reason. The next call tries again.
    func load(toChange: Bool = false) async throws(RemoteError) {
        guard !isLoaded, let stored = try await store?.load(toChange: toChange) else { return }
        // In the meantime, another call may have read them, and changed some.
        guard !isLoaded else { return }
        for one in stored { registrations[one.token] = one }
        isLoaded = true
    }

    /// Reads the registrations when the router starts.
    func loadAtStart() async {
        do throws(RemoteError) {
            try await load()
        } catch {
            log.notice("pushes are read later: \(error.message)")
        }
    }

    /// Leaves the registrations to the next router.
    func stop() async {
        isStopped = true
        retry.cancel()
        await store?.release()
    }

    /// Writes the registrations.
    ///
    /// - Throws: `failed` with the reason.
    func save() async throws(RemoteError) {
        guard let store else {
            throw RemoteError(.failed, "there is no directory for registrations; set HOME or XDG_STATE_HOME")
        }
        try await store.save(registrations.values.sorted { $0.token < $1.token })
    }

    // MARK: Calls from distributors

    /// Takes a push. When this returns, it is on disk, so that the distributor may forget it. Like every call with an
    /// unknown token, a push with one is ignored.
    ///
    /// - Throws: an error for a push that the router does not take, which the distributor may send again.
    func receive(_ message: [UInt8], _ token: String, id: String) async throws {
        try await load()
        guard let registration = registrations[token]?.registration else { return }
        guard (1...UnifiedPush.messageBytes).contains(message.count), id.utf8.count <= Self.idBytes else {
            throw RemoteError(.invalidArguments, "a push has 1 to \(UnifiedPush.messageBytes) bytes")
        }
        var push = RemoteNotification(message)
        push.instance = registration.instance
        push.id = id.isEmpty ? nil : id
        var context = OpenContext()
        context.push = push
        // The handler has asked for its pushes, so they take its own share of the queue.
        context.source.callerClass = .known(.handler)
        context.source.application = registration.handler
        var options = OpenOptions()
        options.inBackground = true
        options.handler = registration.handler
        let url = "unifiedpush:\(registration.instance)"
        try await accept(Delivery(url: url, handler: registration.handler, options: options, context: context))
    }

    /// Maximum size of a distributor's name for a message, in bytes.
    private static let idBytes = 256

    /// Notes the endpoint of a registration, which is empty while the distributor has none. If no call waits for it, the
    /// handler is woken to learn of it.
    func take(endpoint: String, _ token: String) async throws {
        try await load()
        guard let stored = registrations[token] else { return }
        guard endpoint.utf8.count <= UnifiedPush.endpointBytes else {
            throw RemoteError(.invalidArguments, "an endpoint has at most \(UnifiedPush.endpointBytes) bytes")
        }
        let isNew = stored.registration.endpoint != endpoint
        // Calls wait until the endpoint is on disk, and go on waiting while there is none.
        let waiting = endpoint.isEmpty ? [] : waiters.removeValue(forKey: token) ?? []
        registrations[token]?.registration.endpoint = endpoint
        if isNew {
            do throws(RemoteError) {
                try await save()
            } catch {
                // The distributor repeats the call, which must then be news again.
                registrations[token]?.registration.endpoint = stored.registration.endpoint
                if !waiting.isEmpty { waiters[token, default: []] += waiting }
                throw error
            }
        }
        for waiter in waiting { waiter.end() }
        if isNew, waiting.isEmpty, waiters[token] == nil {
            announce(stored.registration.instance, endpoint, to: stored.registration.handler)
        }
    }

    /// Forgets a registration that a distributor has ended, and wakes the handler to learn of it.
    func end(_ token: String) async throws {
        try await load()
        guard let stored = registrations.removeValue(forKey: token) else { return }
        do throws(RemoteError) {
            try await save()
        } catch {
            registrations[token] = stored
            throw error
        }
        for waiter in waiters.removeValue(forKey: token) ?? [] { waiter.end() }
        announce(stored.registration.instance, "", to: stored.registration.handler)
    }

    private func announce(_ instance: String, _ endpoint: String, to id: String) {
        guard let handler = handler(id) else { return }
        var context = WakeContext(.known(.push))
        let value = Value.dictionary([.string(instance): .string(endpoint)], key: "s", value: "s")
        context.notifications = [PushInterface.endpointKind: value]
        let request = OpenRequest(waking: context, observed: monitor.observe(.wake, nil))
        request.account = "the handler \(id)"
        let session = sessions.obtain(for: handler)
        sessions.shared.tasks.start { [log] in
            do throws(OpenURLError) {
                _ = try await session.wake(request)
                request.observed?.end(nil)
            } catch {
                // It asks for its endpoint at its next launch.
                let reason = session.withoutSecrets(error.text)
                log.warning("it could not be told its new endpoint: \(reason)", metadata: ["handler": "\(id)"])
                request.observed?.end(error)
            }
        }
    }

    // MARK: Deliveries

    func takes(_ delivery: Delivery) -> Bool { delivery.context.push != nil }

    func attempt(_ delivery: Delivery, _ id: Int64, _ number: Int) async -> DeliveryAttempts.Result {
        guard let known = handlers.registry.handler(named: delivery.handler) else {
            return .failed(OpenURLError(unknownHandler: delivery.handler), wasHandedOver: false)
        }
        if let url = known.manifest.pushURL {
            let opened = Delivery(
                url: url,
                handler: delivery.handler,
                options: delivery.options,
                context: delivery.context
            )
            return await open(opened, id, number)
        }
        guard let handler = handler(delivery.handler) else {
            let reason: QuotingText =
                "\(known.id) runs only to open URLs; set OUPushURL in its manifest to receive pushes"
            return .failed(OpenURLError(.notAllowed, reason), wasHandedOver: false)
        }
        var context = WakeContext(.known(.push))
        context.push = delivery.context.push
        return await attempts.wake(handler, context, for: delivery, id, number)
    }

    func withdraw(_ id: Int64) { attempts.withdraw(id) }

    /// Returns a handler that can be woken.
    private func handler(_ id: String) -> Handler? {
        handlers.registry.handler(named: id).flatMap { $0.canBeWoken ? $0 : nil }
    }
}

/// A call that waits for the endpoint of its registration.
final class EndpointWaiter {
    private let timer: RestartableTimer
    private var continuation: CheckedContinuation<Void, Never>?
    private var isOver = false

    init(on loop: EventLoop) {
        timer = RestartableTimer(on: loop)
    }

    /// Returns when the endpoint is known, or after a time.
    func wait(for time: Duration) async {
        await withCheckedContinuation { continuation in
            // The endpoint may have become known before the wait began.
            if isOver { return continuation.resume() }
            self.continuation = continuation
            timer.start(in: time) { self.end() }
        }
    }

    func end() {
        isOver = true
        timer.cancel()
        continuation?.resume()
        continuation = nil
    }
}
