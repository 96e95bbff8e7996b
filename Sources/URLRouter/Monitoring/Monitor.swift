internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor

/// The programs that watch the router's requests, and the way of the requests to them and to the log.
///
/// Nothing happens on the way of a request but notes: the subscribers get what has changed in one signal after
/// ``reportDelay``, and the log gets what has ended after ``logDelay``. The object belongs to the router's actor.
final class Monitor {
    private let bus: any HandlerBus
    private let loop: EventLoop
    private let tasks: RouterTasks
    private let log: RequestLog?
    private let subscriptions: Subscriptions
    private var options: [BusName: MonitorOptions] = [:]
    private var lastTime: UInt64 = 0
    private var changes: [Observation] = []
    private var ends: [ObservedRequest] = []
    /// The bytes of the URLs in ``ends``.
    private var endBytes = 0
    /// The requests that are missing in the log, because the disk is too slow for them.
    private(set) var lost = 0
    private var isStoring = false
    private let reportTimer: RestartableTimer
    private let logTimer: RestartableTimer

    /// The time between a change and the signal about it, which a person does not notice.
    private static let reportDelay = Duration.milliseconds(50)
    /// The time between the end of a request and its writing.
    static let logDelay = Duration.seconds(2)
    /// The number of requests that wait for their writing, and the bytes of their URLs.
    private static let waitingEnds = 1024
    private static let waitingBytes = 4 << 20

    init(_ bus: any HandlerBus, _ loop: EventLoop, _ limits: RouterLimits, _ tasks: RouterTasks, log: RequestLog?) {
        self.bus = bus
        self.loop = loop
        self.tasks = tasks
        self.log = log
        subscriptions = Subscriptions(bus, limit: limits.monitors)
        reportTimer = RestartableTimer(on: loop)
        logTimer = RestartableTimer(on: loop)
    }

    // MARK: Requests

    /// Begins to note the facts about a request; nil if nobody wants to know.
    func observe(
        _ kind: MonitorEntry.Kind,
        _ url: String?,
        fallback: [String] = [],
        named requestID: String? = nil
    ) -> Observation? {
        guard log != nil || !options.isEmpty else { return nil }
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let microseconds = UInt64(clamping: now.tv_sec) * 1_000_000 + UInt64(clamping: now.tv_nsec / 1000)
        lastTime = max(microseconds, lastTime + 1)
        var request = ObservedRequest(time: lastTime, kind: kind, url: url, fallback: fallback)
        request.requestID = requestID
        return Observation(request, self)
    }

    /// Shows a request to the subscribers, soon.
    func changed(_ observation: Observation) {
        guard !options.isEmpty, !observation.isChanged else { return }
        observation.isChanged = true
        changes.append(observation)
        guard changes.count < MonitorInterface.pageSize else { return report() }
        if !reportTimer.isRunning { reportTimer.start(at: .now + Self.reportDelay) { self.report() } }
    }

    /// Writes a request into the log, soon.
    func ended(_ request: consuming ObservedRequest) {
        guard log != nil else { return }
        let isFull = ends.count >= Self.waitingEnds || endBytes >= Self.waitingBytes
        if isFull, isStoring {
            lost += 1
            return
        }
        endBytes += request.urlBytes
        ends.append(request)
        if isFull { return store() }
        if !logTimer.isRunning { logTimer.start(at: .now + Self.logDelay) { self.store() } }
    }

    private func report() {
        reportTimer.cancel()
        let changed = changes
        changes = []
        for observation in changed { observation.isChanged = false }
        for showsQueries in [false, true] {
            let receivers = options.filter { $0.value.showsQueries == showsQueries }.map(\.key)
            guard !receivers.isEmpty else { continue }
            let entries = changed.map { $0.request.entry(showsQueries: showsQueries) }
            for receiver in receivers where !bus.tell(entries, to: receiver) { unsubscribe(receiver) }
        }
    }

    private func store() {
        guard !isStoring else { return }
        isStoring = true
        tasks.start {
            await self.flush()
            self.isStoring = false
            self.storeRest()
        }
    }

    /// Writes what has ended during a writing that took long.
    private func storeRest() {
        if !ends.isEmpty, !logTimer.isRunning { logTimer.start(at: .now + Self.logDelay) { self.store() } }
    }

    // MARK: The log

    /// Returns when every request that has ended is in the log.
    func flush() async {
        logTimer.cancel()
        let (ended, missing) = (ends, lost)
        (ends, endBytes, lost) = ([], 0, 0)
        if !ended.isEmpty { await log?.add(ended, missing: missing) }
    }

    /// The entries of the log that a filter selects, the latest first.
    func entries(_ filter: MonitorFilter) async throws(RemoteError) -> [MonitorEntry] {
        guard let log else {
            throw RemoteError(.failed, "the log is off (\(RequestLog.variable)), or there is no directory for it")
        }
        await flush()
        return await log.entries(filter)
    }

    // MARK: Subscribers

    /// Adds a subscriber; returns when its end will be noticed.
    ///
    /// - Parameter left: tells, on the event loop, that the connection has ended.
    /// - Throws: `limitsExceeded`.
    func subscribe(
        _ name: BusName,
        _ account: String,
        _ wishes: MonitorOptions,
        left: @escaping @Sendable (BusName) -> Void
    ) async throws(OpenURLError) {
        options[name] = wishes
        do throws(OpenURLError) {
            try await subscriptions.add(name, account, left: left)
            // The connection may have ended meanwhile.
            if !subscriptions.contains(name) { unsubscribe(name) }
        } catch {
            unsubscribe(name)
            throw error
        }
    }

    /// Removes a subscriber, and everything that was kept for it.
    func unsubscribe(_ name: BusName) {
        options[name] = nil
        subscriptions.remove(name)
        guard options.isEmpty else { return }
        reportTimer.cancel()
        for observation in changes { observation.isChanged = false }
        changes = []
    }

    /// The number of subscribers.
    var subscriberCount: Int { options.count }
}

extension URLRouter {
    func subscribe(toRequests wishes: MonitorOptions, _ caller: BusName?) async throws(OpenURLError) {
        guard let caller else { return }
        let account = await callers.caller(caller).account
        try await monitor.subscribe(caller, account, wishes) { [unowned self] name in
            assumeIsolated { $0.monitor.unsubscribe(name) }
        }
    }

    func unsubscribe(fromRequests caller: BusName?) {
        if let caller { monitor.unsubscribe(caller) }
    }

    func loggedRequests(_ filter: MonitorFilter) async throws(RemoteError) -> [MonitorEntry] {
        try await monitor.entries(filter)
    }

    /// Returns when every request that has ended is in the log.
    public func storeLog() async { await monitor.flush() }

    /// Performs a request about a handler itself, and shows the request to those who watch.
    func observing(
        _ kind: MonitorEntry.Kind,
        _ id: String,
        _ caller: BusName?,
        _ body: (Observation?) async throws(OpenURLError) -> Void
    ) async throws(OpenURLError) {
        guard let observed = monitor.observe(kind, nil) else { return try await body(nil) }
        let source = await callers.caller(caller).source
        observed.note {
            $0.handler = id
            $0.source = source
        }
        do throws(OpenURLError) {
            try await body(observed)
            observed.end(nil)
        } catch {
            observed.end(error)
            throw error
        }
    }
}
