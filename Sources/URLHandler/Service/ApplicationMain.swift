internal import CLinux
public import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor
internal import UserFiles

extension Application {
    /// Runs a handler until it is told to end: the whole of a handler's `main`.
    ///
    /// It connects to the session bus, exports the handler's object, takes the name, and then calls the delegate for what
    /// arrives. Started by the router, it waits for the first message; started by hand, it launches at once and without
    /// a URL. `SIGTERM` and `SIGINT` end it in order; the library needs `SIGCONT` for itself.
    ///
    /// Exit status: 0 when it was told to end, 1 when there is no bus, another process owns the name, then or when it
    /// wakes from suspension, or the bus went away; standard error says which.
    public static func main(_ identifier: BusName, delegate: any ApplicationDelegate) async -> Never {
        let isStartedByRouter = getenv(HandlerInterface.launchVariable) != nil
        // A child of the handler is not started by the router.
        unsetenv(HandlerInterface.launchVariable)
        if isStartedByRouter {
            // A handler that the router has stopped would stay stopped for ever when the router dies, whatever way. What counts
            // is the death of the thread that started this process; openurld starts processes on its event loop, which is its
            // main thread and lives as long as the program.
            set_parent_death_signal(SIGCONT)
        }

        let progress = Progress()
        let queue = EventQueue()
        let (statuses, ended) = AsyncStream<CInt>.makeStream()
        let connection: Connection
        let application: Application
        let suspension: Suspension
        do {
            let loop = try EventLoop()
            connection = try await Connection.open(on: loop)
            application = Application(
                identifier,
                delegate: delegate,
                progress: progress,
                timekeeper: RouterTimekeeper(connection: connection),
                store: stateFile(of: identifier)
            )
            suspension = Suspension(of: identifier, connection, queue, progress)
            try await loop.run { [application, suspension, connection] in
                try SignalWatch.start([SIGTERM, SIGINT, SIGCONT], on: loop) { signal in
                    if signal == SIGCONT { return suspension.end() }
                    queue.end(application, connection) { ended.yield(0) }
                }
            }
        } catch {
            fail(identifier, "there is no session bus: \(error)")
        }
        application.onTerminate { queue.end(application, connection) { ended.yield(0) } }
        let routers = Routers()
        let object = HandlerObject(
            application: application,
            queue: queue,
            progress: progress,
            routers: routers,
            suspension: suspension,
            loop: connection.loop
        )
        await connection.export(object.interfaces, at: HandlerInterface.object(of: identifier))

        // Not on the main actor: a delegate that does not return must not keep the process alive without a bus.
        Task.detached {
            await connection.waitUntilClosed()
            queue.end(application, connection) { ended.yield(1) }
        }

        do {
            try await routers.watch(on: connection)
            guard try await connection.requestName(identifier) == .owned else {
                fail(identifier, "another process has that name already")
            }
            if !isStartedByRouter { try await queue.run { _ = await application.handle(.activate) } }
        } catch {
            fail(identifier, "the handler cannot start: \(error)")
        }
        for await status in statuses { exit(status) }
        exit(1)
    }

    /// Nil without a home directory: there is nothing to restore then, and nothing is saved.
    private static func stateFile(of identifier: BusName) -> StateFile? {
        var environment: [String: String] = [:]
        for name in ["XDG_STATE_HOME", "HOME"] { environment[name] = getenv(name).map { String(cString: $0) } }
        guard let file = RestorationFile(ofHandler: "\(identifier)", environment: environment) else { return nil }
        return StateFile(file) { complain(identifier, $0) }
    }

    nonisolated static func fail(_ identifier: BusName, _ message: String) -> Never {
        complain(identifier, message)
        exit(1)
    }
}

extension EventQueue {
    /// How long a handler may take to end ("App Termination": five seconds).
    private static let endTimeout = Duration.seconds(5)

    /// Ends the handler after the events that have arrived; a delegate that does not return cannot hold it up for ever.
    fileprivate func end(
        _ application: Application,
        _ connection: Connection,
        _ ended: @escaping @Sendable () -> Void
    ) {
        let loop = connection.loop
        loop.execute { loop.schedule(at: .now + Self.endTimeout) { exit(1) } }
        finish {
            await EventQueue.refuseMore(as: application.identifier, connection)
            await application.handle(.terminate)
            // Answers that were given are written before the process ends.
            await connection.close()
            ended()
        }
    }

    /// Gives the name back, and returns when every URL that the router sent to this process has arrived and been refused.
    ///
    /// The router hears that the name is free before it answers the ping, and sends nothing here after that. So what it has
    /// sent arrives before its answer, and no URL is lost in a process that is about to end.
    private static func refuseMore(as name: BusName, _ connection: Connection) async {
        let router = RemoteObject(RouterService.name, RouterService.path, startsService: false)
        do throws(CallError) {
            try await connection.releaseName(name)
            _ = try await connection.call(PeerInterface.ping, on: router, Empty(), timeout: .seconds(1))
        } catch {
            // Without a bus, or without a router, nobody sends anything.
        }
    }
}
