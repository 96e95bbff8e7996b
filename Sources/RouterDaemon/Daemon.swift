internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Synchronization

/// The order in which the daemon starts and ends.
///
/// A step that throws ends the start: the later steps do not happen.
final class Daemon<Parts: Assembly>: Sendable {
    private let assembly: Parts
    private let log: Logger
    private let executor: (any TaskExecutor)?
    private let end: @Sendable (CInt) -> Void
    /// Whether a signal has asked the daemon to end.
    private let isEnding = Atomic(false)

    /// Creates a daemon that has not started.
    ///
    /// - Parameters:
    ///   - executor: runs the steps that end the daemon.
    ///   - end: ends the process at once, with an exit status.
    init(
        _ assembly: Parts,
        log: Logger,
        executor: (any TaskExecutor)? = nil,
        end: @escaping @Sendable (CInt) -> Void
    ) {
        self.assembly = assembly
        self.log = log
        self.executor = executor
        self.end = end
    }

    /// Starts the router and serves until the connection to the bus has ended.
    ///
    /// - Returns: the exit status, which is a success only if a signal ended the daemon.
    func serve() async -> CInt {
        do {
            let registry = try await assembly.loadRegistry()
            guard let bus = await connected() else { return EXIT_FAILURE }
            let router = try await assembly.makeRouter(registry, bus)
            // From the name on there may be requests, so a signal has to end the process in order by then.
            try await router.watchSignals { [self] in endInOrder(router, signal: $0) }
            // The first request may arrive together with the name.
            await router.export()
            guard try await router.takeName() else {
                log.error("another process owns \(RouterService.name) already")
                return EXIT_FAILURE
            }
            // The rest belongs to the owner of the name: two routers must not publish to the desktop, adopt the same
            // processes or deliver the same URLs.
            await router.followRegistry()
            await router.adoptRunning()
            await router.startDeliveries()
            await router.watchMemory()
            log.info("ready", metadata: ["handlers": "\(router.handlerCount)"])
            await router.waitUntilClosed()
            await router.abandonDeliveries()
            if isEnding.load(ordering: .relaxed) { return EXIT_SUCCESS }
            log.notice("the session bus has ended, so the router ends too")
        } catch {
            log.error("\(error)")
        }
        return EXIT_FAILURE
    }

    /// The connection to the bus; nil if there is none, which is logged.
    private func connected() async -> Parts.Bus? {
        do {
            return try await assembly.connect()
        } catch {
            log.error("there is no session bus to serve: \(error); DBUS_SESSION_BUS_ADDRESS names the bus")
            return nil
        }
    }

    /// Answers the requests that have arrived and then closes the connection. The second signal ends the process at once.
    private func endInOrder(_ router: Parts.Router, signal: CInt) {
        // A shell reports the end by a signal with the same status.
        guard !isEnding.exchange(true, ordering: .relaxed) else { return end(128 + signal) }
        log.info("ending after the last answer; a second signal ends the process at once")
        Task(executorPreference: executor) { await self.drain(router) }
    }

    private func drain(_ router: Parts.Router) async {
        // Otherwise systemd takes the release of the name for a failure, and sends a signal of its own.
        do {
            try await router.announceEnd()
        } catch {
            log.error("the service manager cannot be told of the end: \(error)")
        }
        // The next router reads the queue once it owns the name, so this router has to be done with the queue before.
        await router.stopDeliveries()
        do {
            try await router.releaseName()
        } catch {
            log.error("the name \(RouterService.name) cannot be released: \(error)")
        }
        await router.waitUntilAnswered()
        await router.close()
    }
}
