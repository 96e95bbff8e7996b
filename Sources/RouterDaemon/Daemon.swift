internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Synchronization

/// The order in which the daemon starts and ends.
///
/// If a step in the start throws an error, the later steps do not happen.
final class Daemon<Parts: Assembly>: Sendable {
    private let assembly: Parts
    private let log: Logger
    private let answerTime: Duration
    private let closingTime: Duration
    private let end: @Sendable (CInt) -> Void
    /// Whether a signal has asked the daemon to end.
    private let isEnding = Atomic(false)
    /// Ends the process if its orderly end takes too long; nil until the end begins.
    private let limit = Mutex<Task<Void, Never>?>(nil)

    /// Creates a daemon that has not started.
    ///
    /// - Parameters:
    ///   - answerTime: the time for the deliveries in progress and for the requests that have arrived, from the signal on.
    ///   - closingTime: the time for everything else after that. Together, the defaults take less than the 90 seconds
    ///     after which systemd kills a service.
    ///   - end: ends the process at once, with an exit status.
    init(
        _ assembly: Parts,
        log: Logger,
        answerTime: Duration = .seconds(75),
        closingTime: Duration = .seconds(14),
        end: @escaping @Sendable (CInt) -> Void
    ) {
        self.assembly = assembly
        self.log = log
        self.answerTime = answerTime
        self.closingTime = closingTime
        self.end = end
    }

    /// Starts the router, and serves until the connection to the bus has ended.
    ///
    /// - Returns: the exit status, which means success only if a signal ended the daemon.
    func serve() async -> CInt {
        defer { limit.withLock { $0?.cancel() } }
        do {
            let registry = try await assembly.loadRegistry()
            guard let bus = await connected() else { return EXIT_FAILURE }
            let router = try await assembly.makeRouter(registry, bus)
            // There may be requests as soon as the router has its name. From then on, a signal must end the process in
            // an orderly way.
            try await router.watchSignals { [self] in endInOrder(router, signal: $0) }
            // The first request may arrive as soon as the router has the name.
            await router.export()
            guard try await router.takeName() else {
                log.error("another process already owns \(RouterService.name) on the bus")
                return EXIT_FAILURE
            }
            // Only the owner of the name may do the rest, because two routers must not publish to the desktop, adopt
            // the same processes or deliver the same URLs.
            await router.followRegistry()
            await router.adoptRunning()
            await router.startDeliveries()
            await router.watchMemory()
            log.info("ready", metadata: ["handlers": "\(router.handlerCount)"])
            await router.waitUntilClosed()
            limitEnd(to: closingTime)
            await router.abandonDeliveries()
            if isEnding.load(ordering: .relaxed) { return EXIT_SUCCESS }
            log.notice("the connection to the bus was lost, so the router exits")
        } catch {
            log.error("\(error)")
        }
        return EXIT_FAILURE
    }

    /// Connects to the bus. If there is none, logs that and returns nil.
    private func connected() async -> Parts.Bus? {
        do {
            return try await assembly.connect()
        } catch {
            log.error("there is no session bus to serve: \(error); set DBUS_SESSION_BUS_ADDRESS to its address")
            return nil
        }
    }

    /// Answers the requests that have arrived, and then closes the connection. A second signal ends the process at
    /// once.
    private func endInOrder(_ router: Parts.Router, signal: CInt) {
        // This is the status that a shell reports for a process that a signal has ended.
        guard !isEnding.exchange(true, ordering: .relaxed) else { return end(128 + signal) }
        log.info("exiting after the last answer; a second signal exits at once")
        limitEnd(to: answerTime + closingTime)
        Task { await self.drain(router) }
    }

    /// Ends the process after this time, unless it has ended by then or already has a limit.
    private func limitEnd(to time: Duration) {
        limit.withLock { limit in
            if limit != nil { return }
            limit = Task { [log, end] in
                do {
                    try await Task.sleep(for: time, clock: .continuous)
                } catch {
                    return
                }
                log.error("the router did not finish in time, so it exits now")
                end(EXIT_FAILURE)
            }
        }
    }

    /// The time that a step gets even if the deadline has passed.
    private static var leastTime: Duration { .seconds(2) }

    private func drain(_ router: Parts.Router) async {
        let deadline = ContinuousClock.now + answerTime
        // Otherwise, systemd treats the release of the name as a failure, and sends its own signal.
        do {
            try await router.announceEnd()
        } catch {
            log.error("cannot notify the service manager that the router is stopping: \(error)")
        }
        // The next router reads the queue as soon as it owns the name, so this one must be done with the queue before
        // that.
        if await !ends(by: max(deadline, .now + Self.leastTime), { await router.stopDeliveries() }) {
            log.notice("some deliveries have taken too long; the next router tries them again")
            // The end of the lanes would look like a crash of their handlers.
            _ = await ends(by: .now + Self.leastTime) { await router.abandonDeliveries() }
        }
        do {
            try await router.releaseName()
        } catch {
            log.error("cannot release the name \(RouterService.name): \(error)")
        }
        // A program that calls again and again must not keep the router from exiting. But a queued URL may have taken all
        // of the time, so answers that are almost ready get a moment of their own.
        if await !ends(by: max(deadline, .now + Self.leastTime), { await router.waitUntilAnswered() }) {
            log.notice("some requests have taken too long, and get no answer")
        }
        await router.close()
    }

    /// Waits until the work ends, but not beyond the deadline. After that, the work is cancelled, and continues if it ignores
    /// the cancellation, for example because a file system is not responding.
    ///
    /// - Returns: whether the work has ended.
    private func ends(
        by deadline: ContinuousClock.Instant,
        _ work: @escaping @Sendable () async -> Void
    ) async -> Bool {
        let (outcomes, outcome) = AsyncStream.makeStream(of: Bool.self)
        let working = Task {
            await work()
            outcome.yield(true)
        }
        let timing = Task {
            do {
                try await Task.sleep(until: deadline, clock: .continuous)
                outcome.yield(false)
            } catch {
                // The work has ended in time.
            }
        }
        defer {
            working.cancel()
            timing.cancel()
        }
        for await hasEnded in outcomes { return hasEnded }
        return false
    }
}
