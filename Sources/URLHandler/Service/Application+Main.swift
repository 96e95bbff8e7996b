internal import CLinux
public import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor

extension Application {
    /// Runs a handler until it is asked to end. This is the complete `main` of a handler.
    ///
    /// It connects to the session bus, exports the handler's object and requests the bus name. Then it calls the
    /// delegate for every event that arrives. If the router started the handler, it waits for the first message. If you
    /// start it yourself, it launches at once, without a URL. `SIGTERM` and `SIGINT` end the handler in an orderly way.
    /// The library itself uses `SIGCONT`.
    ///
    /// Call this before `main` awaits anything else. The main thread then serves the bus, the main actor and
    /// `DispatchQueue.main` without switching threads. If `main` has already waited for something else, each URL takes
    /// longer.
    ///
    /// The exit status is 0 if the handler was asked to end. It is 1 in these cases, and a message on standard error
    /// gives the cause:
    ///
    /// - There is no session bus, or the connection to it has ended.
    /// - Another process owns the bus name, either at the start or after a suspension.
    public static func main(_ identifier: BusName, delegate: any ApplicationDelegate) async -> Never {
        // Write lines at once, as on a terminal. Otherwise they are lost if the process is killed.
        buffer_standard_output_by_line()
        let environment = HandlerEnvironment.take(of: identifier)
        let loop: EventLoop
        do {
            loop = try EventLoop()
            try loop.shareMainThread()
        } catch {
            fail(identifier, "the event loop cannot be created: \(error)")
        }
        // Keep the library out of the Swift runtime's thread pool, because the pool's first thread starts further
        // threads to watch over it.
        await withTaskExecutorPreference(loop) {
            await run(identifier, delegate, environment, on: loop)
        }
        exit(1)
    }

    private static func run(
        _ identifier: BusName,
        _ delegate: any ApplicationDelegate,
        _ environment: HandlerEnvironment,
        on loop: EventLoop
    ) async {
        let blackboard = WatchdogBlackboard()
        let queue = EventQueue()
        let (statuses, ended) = AsyncStream<CInt>.makeStream()
        let connection: Connection
        let application: Application
        let suspension: Suspension
        // The handler may end before there is a lane.
        let lanes = Lock<RouterLanes?>(nil)
        do {
            connection = try await Connection.open(on: loop)
            application = Application(
                identifier,
                delegate: delegate,
                directories: environment.directories,
                blackboard: blackboard,
                timekeeper: RouterTimekeeper(connection: connection),
                wayBack: RouterWayBack(connection: connection),
                pushes: RouterPushes(connection: connection),
                notifications: RouterNotifications(connection: connection),
                tasks: RouterTaskScheduler(connection: connection),
                store: environment.stateFile.map { file in SavedStateFile(file) { complain(identifier, $0) } }
            )
            suspension = Suspension(of: identifier, connection, queue, blackboard)
            try await loop.run { [application, suspension, connection] in
                try SignalWatch.start([SIGTERM, SIGINT, SIGCONT], on: loop) { signal in
                    if signal == SIGCONT { return suspension.end() }
                    queue.end(application, connection, lanes.withLock { $0 }) { ended.yield(0) }
                }
            }
        } catch {
            fail(identifier, "there is no session bus: \(error)")
        }
        application.onTerminate {
            queue.end(application, connection, lanes.withLock { $0 }, whenIdle: true) { ended.yield(0) }
        }
        let routers = Routers(environment.launcher.flatMap { BusName($0) })
        let object = HandlerObject(
            application: application,
            queue: queue,
            blackboard: blackboard,
            routers: routers,
            reach: environment.reach,
            suspension: suspension,
            loop: connection.loop,
            cameOnBus: { lanes.withLock { $0 }?.openIfMissed() }
        )
        await connection.export(object.interfaces, at: HandlerInterface.object(of: identifier))
        let lane = RouterLanes(of: identifier, connection, object)
        lanes.withLock { $0 = lane }

        // This task is detached from the main actor, because a delegate that does not return must not keep the process
        // alive without a bus.
        Task.detached(executorPreference: loop) {
            await connection.waitUntilClosed()
            queue.end(application, connection, lanes.withLock { $0 }) { ended.yield(1) }
        }

        do {
            try await routers.watch(on: connection) {
                loop.startTask { await application.backgroundTasks.renew() }
                loop.startTask { await lane.open() }
            }
            // The router notices the name only after this, so every URL arrives over the lane.
            await lane.open()
            guard try await connection.requestName(identifier) == .owned else {
                fail(identifier, "another process already has that name on the bus; end it first")
            }
            if environment.launcher == nil { try await queue.run { _ = await application.handle(.activate) } }
        } catch {
            fail(identifier, "the handler cannot start: \(error)")
        }
        for await status in statuses { exit(status) }
    }

    nonisolated static func fail(_ identifier: BusName, _ message: String) -> Never {
        complain(identifier, message)
        exit(1)
    }
}

extension EventQueue {
    /// The time limit for a handler to end ("App Termination": five seconds).
    private static let endTimeout = Duration.seconds(5)

    /// Ends the handler once it has handled the events that have already arrived.
    ///
    /// When the time limit expires, the process exits with status 1, so that a delegate that does not return cannot
    /// prevent the end.
    ///
    /// - Parameter whenIdle: whether the end waits until there are no more events, and the time limit begins only then.
    ///   Until then, the process refuses no URL, because the router would soon kill it.
    fileprivate func end(
        _ application: Application,
        _ connection: Connection,
        _ lanes: RouterLanes?,
        whenIdle: Bool = false,
        _ ended: @escaping @Sendable () -> Void
    ) {
        let loop = connection.loop
        let startTimer: @Sendable () -> Void = {
            loop.execute { loop.schedule(at: .now + Self.endTimeout) { exit(1) } }
        }
        let last: Remainder = {
            if whenIdle { startTimer() }
            // As soon as the name is free, the next process may start and restore the state, and the router may remove
            // the state. So save nothing after that.
            await application.handle(.prepareToTerminate)
            await EventQueue.refuseMore(as: application.identifier, connection)
            await lanes?.receiveAll()
            await application.handle(.terminate)
            // Before a connection closes, it writes the answers that were given.
            await lanes?.close()
            await connection.close()
            ended()
        }
        if whenIdle { return finishWhenIdle(last) }
        startTimer()
        finish(last)
    }

    /// Releases the bus name, and returns when every URL that the router sent to this process has arrived and been
    /// refused.
    ///
    /// The router sees that the name is free before it answers the ping, and then sends no more URLs to this process.
    /// All earlier URLs therefore arrive before the answer, and no URL is lost in a process that is about to end.
    private static func refuseMore(as name: BusName, _ connection: Connection) async {
        let router = RemoteObject(RouterService.name, RouterService.path, startsService: false)
        do throws(CallError) {
            try await connection.releaseName(name)
            _ = try await connection.call(PeerInterface.ping, on: router, Empty(), timeout: .seconds(1))
        } catch {
            // Without a bus or a router, no process sends URLs.
        }
    }
}
