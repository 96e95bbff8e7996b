internal import DBus
internal import OpenURLBus
internal import Reactor

/// Shows the router's requests to the programs that watch them, and writes them to the log.
///
/// While a request is on its way, it is only recorded in memory: subscribers get all changes in one signal after
/// ``reportDelay``, and the log gets the requests that have ended after ``logDelay``. This belongs to the router's
/// actor.
final class Monitor {
    private let bus: any BusNames
    private let signals: any RouterSignals
    private let callers: Callers
    private let tasks: RouterTasks
    private let log: RequestLog?
    private let limits: RouterLimits
    private lazy var subscriptions = Subscriptions(
        bus,
        callers,
        tasks,
        limit: limits.monitors,
        left: { [unowned self] in
            unsubscribe($0)
        }
    )
    private var options: [BusName: MonitorOptions] = [:]
    private var lastTime: UInt64 = 0
    private var changes: [Observation] = []
    private var ends: [ObservedRequest] = []
    /// Size of the URLs in ``ends``, in bytes.
    private var endBytes = 0
    /// Number of requests that are missing from the log because the disk is too slow for them.
    private(set) var lost = 0
    private var isStoring = false
    private let reportTimer: RestartableTimer
    private let logTimer: RestartableTimer

    /// Time between a change and the signal about it, too short for people to notice.
    private static let reportDelay = Duration.milliseconds(50)
    /// Time between the end of a request and its entry in the log.
    static let logDelay = Duration.seconds(2)
    /// Limits for requests that are waiting to be written: their number, and the size of their URLs in bytes.
    private static let waitingEnds = 1024
    private static let waitingBytes = 4 << 20

    init(
        _ bus: any BusNames,
        _ signals: any RouterSignals,
        _ callers: Callers,
        _ loop: EventLoop,
        _ limits: RouterLimits,
        _ tasks: RouterTasks,
        log: RequestLog?
    ) {
        self.bus = bus
        self.signals = signals
        self.callers = callers
        self.limits = limits
        self.tasks = tasks
        self.log = log
        reportTimer = RestartableTimer(on: loop)
        logTimer = RestartableTimer(on: loop)
    }

    // MARK: Requests

    /// Begins to collect the facts about a request; returns nil if nothing needs them.
    func observe(
        _ kind: MonitorEntry.Kind,
        _ url: String?,
        fallback: [String] = [],
        named requestID: String? = nil
    ) -> Observation? {
        guard log != nil || !options.isEmpty else { return nil }
        lastTime = Self.time(after: lastTime, at: WallClock.microseconds)
        return Observation(
            ObservedRequest(time: lastTime, kind: kind, url: url, fallback: fallback, requestID: requestID),
            self
        )
    }

    /// Returns the time of a request, which is the request's name in the log.
    ///
    /// Two requests at the same time get different ones. But if the clock has been set back, the request gets the
    /// clock's time: an earlier request with that time to the microsecond is too rare to matter.
    static func time(after last: UInt64, at now: UInt64) -> UInt64 {
        now <= last && last - now <= 1_000_000 ? last + 1 : now
    }

    /// Begins to collect the facts about an attempt at a delivery from the queue.
    ///
    /// - Parameter number: the number of the attempt, from 1.
    func observe(
        _ kind: MonitorEntry.Kind,
        _ url: String?,
        attempt number: Int,
        at delivery: Delivery,
        named requestID: String
    ) -> Observation? {
        let observed = observe(kind, url, named: requestID)
        observed?.note {
            $0.attempt = UInt32(clamping: number)
            $0.handler = delivery.handler
            $0.source = delivery.context.source
        }
        return observed
    }

    /// Schedules a request to be shown to the subscribers.
    func changed(_ observation: Observation) {
        guard !options.isEmpty, !observation.isChanged else { return }
        observation.isChanged = true
        changes.append(observation)
        guard changes.count < MonitorInterface.pageSize else { return report() }
        if !reportTimer.isRunning { reportTimer.start(at: .now + Self.reportDelay) { self.report() } }
    }

    /// Schedules a request to be written to the log.
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
        var reasons = ChoiceReasons()
        for showsQueries in [false, true] {
            let receivers = options.filter { $0.value.showsQueries == showsQueries }.map(\.key)
            guard !receivers.isEmpty else { continue }
            let entries = changed.map { $0.request.entry(showsQueries: showsQueries, &reasons) }
            for receiver in receivers where !signals.tell(entries, to: receiver) { unsubscribe(receiver) }
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

    /// Writes the requests that ended while a slow write operation was in progress.
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

    /// Returns the log entries that a filter selects, latest first.
    func entries(_ filter: MonitorFilter) async throws(RemoteError) -> [MonitorEntry] {
        guard let log else {
            throw RemoteError(.failed, "the log is off (see \(RequestLog.variable)), or there is no directory for it")
        }
        await flush()
        return try await log.entries(filter)
    }

    // MARK: Subscribers

    /// Adds a subscriber, or changes its options. Once this has returned, the end of its connection will be noticed.
    ///
    /// - Throws: `limitsExceeded`.
    func subscribe(_ caller: BusName?, _ wishes: MonitorOptions) async throws(OpenURLError) {
        guard let caller else { return }
        options[caller] = wishes
        do throws(OpenURLError) {
            try await subscriptions.add(caller)
        } catch {
            unsubscribe(caller)
            throw error
        }
    }

    /// Removes a subscriber, and everything that was kept for it.
    func unsubscribe(_ caller: BusName?) {
        guard let caller else { return }
        subscriptions.remove(caller)
        options[caller] = nil
        guard options.isEmpty else { return }
        reportTimer.cancel()
        for observation in changes { observation.isChanged = false }
        changes = []
    }

    /// The number of subscribers.
    var subscriberCount: Int { options.count }

    // MARK: Handlers

    /// Performs a request about a handler itself, and shows it to the programs that watch requests.
    func observing(
        _ kind: MonitorEntry.Kind,
        _ id: String,
        _ caller: BusName?,
        _ body: (Observation?) async throws(OpenURLError) -> Void
    ) async throws(OpenURLError) {
        guard let observed = observe(kind, nil) else { return try await body(nil) }
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
