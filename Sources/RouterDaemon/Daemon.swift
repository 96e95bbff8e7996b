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
    private let end: @Sendable (CInt) -> Void
    /// Whether a signal has asked the daemon to end.
    private let isEnding = Atomic(false)

    /// Creates a daemon that has not started.
    ///
    /// - Parameters:
    ///   - answerTime: how long the requests that have arrived may take, from the signal on. Together with the end of
    ///     the connections, the default takes less than the 90 seconds after which systemd kills a service.
    ///   - end: ends the process at once, with an exit status.
    init(
        _ assembly: Parts,
        log: Logger,
        answerTime: Duration = .seconds(75),
        end: @escaping @Sendable (CInt) -> Void
    ) {
        self.assembly = assembly
        self.log = log
        self.answerTime = answerTime
        self.end = end
    }

    /// Starts the router, and serves until the connection to the bus has ended.
    ///
    /// - Returns: the exit status, which means success only if a signal ended the daemon.
    func serve() async -> CInt {
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
        Task { await self.drain(router) }
    }

    private static var leastAnswerTime: Duration { .seconds(2) }

    private func drain(_ router: Parts.Router) async {
        // The steps before the answers take time as well.
        let deadline = ContinuousClock.now + answerTime
        // Otherwise, systemd treats the release of the name as a failure, and sends its own signal.
        do {
            try await router.announceEnd()
        } catch {
            log.error("cannot notify the service manager that the router is stopping: \(error)")
        }
        // The next router reads the queue as soon as it owns the name, so this one must be done with the queue before
        // that.
        await router.stopDeliveries()
        do {
            try await router.releaseName()
        } catch {
            log.error("cannot release the name \(RouterService.name): \(error)")
        }
        // A queued URL may have taken all of the time. Answers that are almost ready get a moment of their own.
        if await !waitUntilAnswered(router, max(deadline, .now + Self.leastAnswerTime)) {
            log.notice("some requests have taken too long, and get no answer")
        }
        await router.close()
    }

    /// Waits until every request that has arrived is answered, but not beyond the deadline: a program that calls again
    /// and again must not keep the router from exiting. The limit is only for the answers: afterwards, the router
    /// still writes its log, however long that takes.
    ///
    /// - Returns: whether every request is answered.
    private func waitUntilAnswered(_ router: Parts.Router, _ deadline: ContinuousClock.Instant) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await router.waitUntilAnswered()
                return true
            }
            group.addTask {
                do {
                    try await Task.sleep(until: deadline, clock: .continuous)
                } catch {
                    // The answers came first.
                }
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? true
        }
    }
}
