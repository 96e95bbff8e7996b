internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor

/// The environment that every process started by the router inherits: the session's variables, without those that are
/// meant for a single process.
///
/// The router may run before the desktop does, and the desktop gives systemd's manager the variables that are set
/// later, such as `DISPLAY`. A launch therefore asks the manager. Without a manager, the router's own variables are
/// those of the session.
actor SessionEnvironment {
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The variables as currently known.
    private(set) var variables: [String: String]

    /// Names of variables that no process inherits, although the manager may have them or set them for its services.
    private(set) var withheld = personal.union(HandlerInterface.variables)

    private let own: [String: String]
    /// The router's own variables that the manager has also had at some point. The manager decides what becomes of
    /// them.
    private var shared: Set<String> = []
    private let services: ServiceOwners?
    private let loop: EventLoop
    private let log: Logger
    private let timeout: Duration
    /// Whether the manager failed to answer the last request. Launches do not wait for such a manager.
    private var isSilent = false
    /// Whether the bus has no manager that may be used, and reports when the owner of its name changes. Until then,
    /// launches do not ask.
    private(set) var isMissing = false
    private var isWatched = false
    private var isBeginningWatch = false
    /// The number of times that the manager has appeared or gone away since the watch began.
    private var changes = 0

    /// - Parameters:
    ///   - environment: the router's own environment.
    ///   - services: the services on the bus with systemd's manager; nil if no manager is asked.
    ///   - timeout: how long a launch waits for the manager.
    init(
        _ environment: [String: String],
        from services: ServiceOwners? = nil,
        on loop: EventLoop,
        log: Logger,
        timeout: Duration = .seconds(1)
    ) {
        own = Self.clean(environment)
        variables = own
        self.services = services
        self.loop = loop
        self.log = log
        self.timeout = timeout
    }

    /// Asks the manager for the current variables. The task ends when a launch need not wait any longer.
    ///
    /// - Returns: nil if no manager is asked.
    nonisolated func startUpdate() -> Task<Void, Never>? {
        services.map { services in loop.startTask { await self.update(from: services) } }
    }

    private func update(from services: ServiceOwners) async {
        guard isSilent else { return await ask(services) }
        loop.startTask { await self.ask(services) }
    }

    private func ask(_ services: ServiceOwners) async {
        if isMissing { return }
        let (changesBefore, wasWatched) = (changes, isWatched)
        do throws(CallError) {
            let manager = try await services.object(SystemdManager.object.path, of: SystemdManager.name)
            use(try await services.connection.get(SystemdManager.environment, on: manager, timeout: timeout))
            isSilent = false
        } catch {
            if case .remote(let error) = error, error.isFromMissingService {
                forgetManager()
                if !wasWatched {
                    loop.startTask { await self.watch(services.connection) }
                    return
                }
                // The manager may have appeared after the answer.
                isMissing = changes == changesBefore
                return
            }
            if !isSilent { log.warning("systemd did not report the session's environment: \(error)") }
            isSilent = true
        }
    }

    /// Asks the bus to report when a manager appears.
    private func watch(_ bus: Connection) async {
        guard !isWatched, !isBeginningWatch else { return }
        isBeginningWatch = true
        defer { isBeginningWatch = false }
        do throws(CallError) {
            _ = try await bus.watchName(SystemdManager.name) { [weak self] _, _ in
                self?.assumeIsolated { $0.managerChanged() }
            }
            isWatched = true
        } catch {
            log.debug("the bus cannot report when systemd appears: \(error)")
        }
    }

    private func managerChanged() {
        changes += 1
        isMissing = false
    }

    /// Uses the router's own variables, because there is no manager.
    private func forgetManager() {
        shared = []
        variables = own
    }

    /// Takes over the manager's variables. A variable that the manager no longer has is no longer one of the session's.
    private func use(_ entries: [String]) {
        var told: [String: String] = [:]
        withheld = Self.personal.union(HandlerInterface.variables)
        for entry in entries {
            guard let equals = entry.firstIndex(of: "=") else { continue }
            let name = String(entry[..<equals])
            // These variables choose the code that a process loads. A session has no use for them, but an impostor that
            // owns the manager's name would.
            if name.hasPrefix("LD_") {
                withheld.insert(name)
                continue
            }
            told[name] = String(entry[entry.index(after: equals)...])
        }
        shared.formUnion(own.keys.filter { told[$0] != nil })
        variables = own.filter { !shared.contains($0.key) }.merging(Self.clean(told)) { $1 }
    }

    /// Variables for a single process: its activation, its sockets, its journal stream, its focus.
    private static let personal: Set<String> = [
        "CACHE_DIRECTORY", "CONFIGURATION_DIRECTORY", "CREDENTIALS_DIRECTORY", "DBUS_STARTER_ADDRESS",
        "DBUS_STARTER_BUS_TYPE", "DESKTOP_STARTUP_ID", "EXIT_CODE", "EXIT_STATUS", "FDSTORE", "INVOCATION_ID",
        "JOURNAL_STREAM", "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "LISTEN_PIDFDID", "LOGS_DIRECTORY", "MAINPID",
        "MAINPIDFDID", "MANAGERPID", "MANAGERPIDFDID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
        "MONITOR_EXIT_CODE", "MONITOR_EXIT_STATUS", "MONITOR_INVOCATION_ID", "MONITOR_SERVICE_RESULT", "MONITOR_UNIT",
        "NOTIFY_FD", "NOTIFY_SOCKET", "OLDPWD", "PIDFILE", "PWD", "REMOTE_ADDR", "REMOTE_PORT", "RUNTIME_DIRECTORY",
        "SERVICE_RESULT", "SHLVL", "STATE_DIRECTORY", "SYSTEMD_EXEC_PID", "SYSTEMD_NSS_BYPASS_BUS",
        "SYSTEMD_NSS_DYNAMIC_BYPASS", "TRIGGER_PATH", "TRIGGER_TIMER_MONOTONIC_USEC", "TRIGGER_TIMER_REALTIME_USEC",
        "TRIGGER_UNIT", "WATCHDOG_PID", "WATCHDOG_USEC", "XDG_ACTIVATION_TOKEN", "_",
    ]

    /// An environment without the variables that are meant for a single process.
    static func clean(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in
            !personal.contains(name) && !HandlerInterface.variables.contains(name) && !name.isEmpty
                && !name.utf8.contains(UInt8(ascii: "="))
        }
    }
}
