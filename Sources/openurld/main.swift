internal import DBus
internal import Desktop
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import Synchronization
internal import URLRouter

// The router's process: puts the parts together, takes the name, and ends in order.

if CommandLine.argc > 1 {
    let isVersion = CommandLine.arguments.dropFirst() == ["--version"]
    let text = isVersion ? "openurld \(Version.current)\n" : "usage: openurld [--version]\n"
    let line = Array(text.utf8)
    _ = write(isVersion ? STDOUT_FILENO : STDERR_FILENO, line, line.count)
    exit(isVersion ? 0 : EX_USAGE)
}

// What it starts, it watches until the end, whatever it was itself started with.
signal(SIGCHLD, SIG_DFL)
// And what it starts is not ended when it cannot write to a router that has ended.
signal(SIGPIPE, SIG_IGN)

LoggingSystem.bootstrap(StreamLogHandler.standardError)
let log = Logger(label: "openurld")
/// Whether a signal has told the router to end.
let isEnding = Atomic(false)

func environment() -> [String: String] {
    var environment: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
        // What is not UTF-8 cannot be handed on unchanged, so it is not handed on.
        if let text = String(validatingCString: text), let equals = text.firstIndex(of: "=") {
            environment[String(text[..<equals])] = String(text[text.index(after: equals)...])
        }
        entry += 1
    }
    return environment
}

/// The directory of the installation that this program belongs to, so many levels above the program.
func installation(above levels: Int) -> String? {
    guard let path = realpath("/proc/self/exe", nil) else { return nil }
    defer { free(path) }
    return String(cString: path).split(separator: "/").dropLast(levels).map { "/\($0)" }.joined()
}

/// The handlers' directory of the installation.
func installedHandlers() -> String? {
    installation(above: 2).map { "\($0)/share/\(RegistryDirectories.subdirectory)" }
}

/// The command of the installation, which the desktop opens URLs with.
func installedCommand() -> String? {
    let command = installation(above: 1).map { "\($0)/openurl" }
    guard let command, access(command, X_OK) == 0 else {
        log.warning("there is no openurl beside openurld: the desktop is told of no handler")
        return nil
    }
    return command
}

@Sendable func serve(on loop: EventLoop) async -> CInt {
    let environment = environment()
    let directories = RegistryDirectories(environment: environment, additional: installedHandlers())
    do {
        let desktop = DesktopDirectories(environment: environment)
        let cache = ManifestCache(environment: environment)
        let store = RegistryStore(
            directories,
            desktop: desktop,
            command: installedCommand(),
            cache: cache,
            on: try EventLoop(),
            log: log
        )
        let registry = await store.load()
        let connection = try await Connection.open(on: loop)
        let router = URLRouter(
            registry: registry,
            connection: connection,
            environment: environment,
            deliveries: DeliveryStore(environment: environment, on: try EventLoop(), log: log),
            log: log
        )
        try await loop.run {
            try SignalWatch.start([SIGINT, SIGTERM], on: loop) { signal in
                guard !isEnding.exchange(true, ordering: .relaxed) else { exit(128 + signal) }
                log.info("ending when every request has its answer; once more ends at once")
                Task(executorPreference: loop) { await drain(router, connection) }
            }
        }
        await RouterObject(router, store, connection).export()
        guard try await connection.requestName(RouterService.name) == .owned else {
            log.error("another process is \(RouterService.name) already")
            return 1
        }
        await store.keepCurrent(router, announcingOn: connection)
        await router.adoptRunning()
        await router.startDeliveries()
        await router.watchMemory()
        log.info("ready", metadata: ["handlers": "\(registry.handlers.count)"])
        await connection.waitUntilClosed()
        if isEnding.load(ordering: .relaxed) { return 0 }
        log.error("the session bus has ended")
        return 1
    } catch {
        log.error("\(error)")
        return 1
    }
}

/// Gives the name back, so that what comes next starts another router, answers what is there, and ends.
@Sendable func drain(_ router: URLRouter, _ connection: Connection) async {
    await router.stopDeliveries()
    do {
        try await connection.releaseName(RouterService.name)
    } catch {
        log.error("the name cannot be given back: \(error)")
    }
    await connection.waitUntilAnswered()
    await connection.close()
}

do {
    let loop = try EventLoop()
    // The main thread is the loop's from here on, so nothing may wait for the main actor.
    loop.runOnCurrentThread(beginning: {
        Task(executorPreference: loop) { exit(await serve(on: loop)) }
    })
} catch {
    log.error("the event loop cannot be made: \(error)")
    exit(1)
}
