internal import CLinux
internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Processes
internal import RFC1808
internal import Reactor
internal import SystemPackage

/// Starts programs as transient services of systemd's manager (systemd.service(5)), if the session has one.
///
/// The manager forks the process, so the process inherits nothing of the router's own sandbox, and each handler's
/// resources are measured, limited and freed separately. A service belongs to the manager, so it outlives the router.
///
/// The manager keeps an ended service until the router has learnt how its process ended. It drops all of them when the
/// router leaves the bus.
actor ProcessServices {
    nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    private let owners: ServiceOwners
    private let connection: Connection
    private let log: Logger
    private let timeout: Duration
    private let findUnit: @Sendable (pid_t) -> String?
    /// The services that were started and whose exit the router does not know yet, by the paths of their
    /// objects on the bus. There is at most one for each start in progress and for each process that the router watches.
    private var services: [String: Service] = [:]
    private var isRouterEnding = false
    /// The manager's connection, as of the last call.
    private var manager: BusName?

    /// - Parameters:
    ///   - owners: finds the manager. A program that may be in a sandbox never counts as one.
    ///   - timeout: the time limit for those answers of the manager that no launch waits for, and for the report of an
    ///     exit.
    ///   - findUnit: returns the unit that a process is in; tests use their own.
    init(
        _ owners: ServiceOwners,
        log: Logger,
        timeout: Duration = .seconds(5),
        findUnit: @escaping @Sendable (pid_t) -> String? = { UInt32(exactly: $0).flatMap(ProcessUnit.name) }
    ) {
        self.owners = owners
        connection = owners.connection
        self.log = log
        self.timeout = timeout
        self.findUnit = findUnit
    }

    /// Notes that the router's unit is being stopped. From now on, services are not ordered before it, because they would
    /// not start until it has stopped.
    func routerEnds() { isRouterEnding = true }

    /// Why a program was not started.
    enum Failure: Error {
        /// There is no manager that may be used. The program was not started.
        case noManager
        /// The manager has not started the program in time, and has been told to stop it.
        case late
        /// The manager refused the service, or could not prepare it; the reason in words.
        case refused(String)
        /// The kernel did not execute the program's file.
        case notExecuted(unit: String)
        /// The process cannot be watched, and was stopped.
        case unwatched(Errno)
    }

    /// A process that the manager has started.
    struct Started: Sendable {
        let pid: CInt
        /// The process's pidfd; nil if it has ended.
        let descriptor: UnixFD?
        fileprivate let path: String
    }

    // MARK: Start

    /// Starts a program. Returns when the kernel has executed the program's file.
    ///
    /// - Parameters:
    ///   - id: the identifier of the handler or the application.
    ///   - limit: the time within which the manager has to start the program.
    func start(
        _ program: ExaminedProgram,
        id: String,
        output: UnixFD,
        withheld: Set<String>,
        within limit: Duration
    ) async throws(Failure) -> Started {
        let unit = TransientUnit(
            program,
            id: id,
            number: .random(in: .min ... .max),
            output: output,
            withheld: withheld,
            stopsBeforeRouter: isRouterEnding
        )
        let end = ContinuousClock.now + limit
        let service = Service(unit.name)
        services[unit.path] = service
        do throws(Failure) {
            try await follow(service, unit.path)
            try await request(unit, until: end)
        } catch {
            services[unit.path] = nil
            if case .late = error { stop(unit.name) }
            throw error
        }
        do throws(Failure) {
            // This closure runs on the loop, to which the service belongs.
            let timer = connection.loop.schedule(at: end) { service.settle() }
            await service.waitUntilSettled()
            connection.loop.cancelTimer(timer)
            let pid = try pid(of: service)
            let descriptor = try await open(pid, unit.path)
            if descriptor == nil { try await checkEnd(of: service, unit.path, until: end) }
            return Started(pid: pid, descriptor: descriptor, path: unit.path)
        } catch {
            services[unit.path] = nil
            switch error {
            case .late, .unwatched: stop(unit.name)
            case .noManager, .refused, .notExecuted: release(unit.name)
            }
            throw error
        }
    }

    private func request(_ unit: TransientUnit, until end: ContinuousClock.Instant) async throws(Failure) {
        do throws(CallError) {
            let time = max(ContinuousClock.now.duration(to: end), .zero)
            let method = SystemdManager.startTransientUnit
            try await connection.call(method, on: object(SystemdManager.object.path), unit, timeout: time)
        } catch {
            switch error {
            case .remote(let error) where error.isFromMissingService: throw .noManager
            // The manager may start the program yet, or may have started it and then lost its connection.
            case .remote(let error) where error.name == .noReply: throw .late
            case .timedOut, .cancelled, .disconnected, .unexpectedReply: throw .late
            case .remote, .notSent: throw .refused("\(error)")
            }
        }
    }

    private func pid(of service: Service) throws(Failure) -> CInt {
        guard let state = service.state, state != "activating" else { throw .late }
        guard let pid = service.pid else { throw .refused("the service is \(state)") }
        try check(service.exitAtStart, of: service)
        return pid
    }

    /// Throws an error if a process that has ended this early never executed its file.
    private func check(_ exit: ProcessExit?, of service: Service) throws(Failure) {
        // These are systemd's own exit statuses for what it does before it executes a file (systemd.exec(5)).
        guard case .exited(let status)? = exit, (200...245).contains(status) else { return }
        if status == 203 { throw .notExecuted(unit: service.name) }
        throw .refused("the service exited with status \(status); 'journalctl --user -u \(service.name)' says why")
    }

    /// Checks how a process ended that was gone as soon as the manager had reported its start. systemd 252 reports the
    /// start of a service with `ExitType=cgroup` even if its file could not be executed.
    private func checkEnd(
        of service: Service,
        _ path: String,
        until end: ContinuousClock.Instant
    ) async throws(Failure) {
        if service.exit == nil { await ask(about: service, path) }
        let timer = connection.loop.schedule(at: min(end, .now + timeout)) { service.stopWaiting() }
        await service.waitUntilEnded()
        connection.loop.cancelTimer(timer)
        try check(service.exit, of: service)
    }

    /// Opens the pidfd of a service's process; nil if the process has ended.
    ///
    /// By the time that the number arrives, the kernel may have given it to another process. It has not if the manager,
    /// which is the parent, still has the process afterwards.
    private func open(_ pid: CInt, _ path: String) async throws(Failure) -> UnixFD? {
        let number = pidfd_open(pid, 0)
        guard number >= 0 else {
            let error = Errno(rawValue: errno)
            if error == .noSuchProcess { return nil }
            throw .unwatched(error)
        }
        let descriptor = UnixFD(owning: number)
        guard let path = ObjectPath(path) else { return nil }
        do throws(CallError) {
            let main = try await connection.get(SystemdManager.mainPID, on: object(path), timeout: timeout)
            return CInt(exactly: main) == pid ? descriptor : nil
        } catch {
            throw .late
        }
    }

    /// Returns whether a process is in a service that is being started.
    func isStarting(_ pid: pid_t) -> Bool {
        guard let unit = findUnit(pid), let service = services[TransientUnit.path(of: unit)] else { return false }
        return service.report == nil
    }

    // MARK: Exit

    /// Calls the closure once, when the exit of a service's process is known.
    func whenExited(_ started: Started, _ report: @escaping @Sendable (ProcessExit) -> Void) {
        guard let service = services[started.path] else { return }
        service.report = report
        finish(started.path, service)
    }

    /// Notes that the kernel says that a service's process has ended. The manager has to report its exit in time.
    func processEnded(_ started: Started) {
        guard services[started.path] != nil else { return }
        _ = connection.loop.schedule(at: .now + timeout) { [weak self] in
            self?.assumeIsolated { $0.askForExit(started) }
        }
    }

    private func askForExit(_ started: Started) {
        guard services[started.path] != nil else { return }
        connection.loop.startTask { await self.finishWithoutReport(started) }
    }

    /// Asks the manager how a process ended, because it has not said so.
    private func finishWithoutReport(_ started: Started) async {
        guard let service = services[started.path] else { return }
        await ask(about: service, started.path)
        if service.exit == nil {
            log.warning("systemd did not report how process \(started.pid) ended")
            service.exit = .unknown
        }
        finish(started.path, service)
    }

    private func ask(about service: Service, _ path: String) async {
        guard let path = ObjectPath(path) else { return }
        do throws(CallError) {
            service.note(try await connection.getAll(SystemdManager.service, on: object(path), timeout: timeout))
        } catch {
            log.debug("systemd did not answer: \(error)")
        }
    }

    private func finish(_ path: String, _ service: Service) {
        guard let exit = service.exit, let report = service.report, services.removeValue(forKey: path) != nil else {
            return
        }
        release(service.name)
        // The process's handle may not be in use yet.
        connection.loop.execute { report(exit) }
    }

    // MARK: The manager

    /// Returns an object of the manager.
    ///
    /// - Throws: the bus's error for a name without an owner if there is no manager that may be used.
    private func object(_ path: ObjectPath) async throws(CallError) -> RemoteObject {
        let object = try await owners.object(path, of: SystemdManager.name)
        manager = object.destination
        return object
    }

    /// Takes the reports about a service as long as it is in the table. Those about other units would only wake the router.
    private func follow(_ service: Service, _ path: String) async throws(Failure) {
        do throws(CallError) {
            let rule = MatchRule(sender: SystemdManager.name, path: ObjectPath(path))
            let changes = try await connection.signals(PropertiesInterface.changed, matching: rule)
            service.reports = connection.loop.startTask { [weak self] in
                for await change in changes { await self?.note(change.body.values.1, change.path, from: change.sender) }
            }
        } catch {
            throw .refused("\(error)")
        }
    }

    private func note(_ properties: [String: Value], _ path: ObjectPath, from sender: BusName?) async {
        if sender != manager {
            do throws(CallError) {
                // A manager that executes itself again has another connection.
                guard try await object(path).destination == sender else { return }
            } catch {
                return log.debug("a change of \(path) is not the manager's: \(error)")
            }
        }
        guard let service = services[path.rawValue] else { return }
        service.note(properties)
        finish(path.rawValue, service)
    }

    /// Stops a service that may have been started too late.
    private func stop(_ name: String) {
        tell(SystemdManager.stopUnit, Arguments(name, "replace"))
        release(name)
    }

    /// Lets the manager forget a service once it has ended.
    private func release(_ name: String) { tell(SystemdManager.unrefUnit, name) }

    private func tell<Input: MessageBody, Output: MessageBody>(_ method: Method<Input, Output>, _ input: Input) {
        connection.loop.startTask { [self] in
            do throws(CallError) {
                try await connection.send(method, on: object(SystemdManager.object.path), input)
            } catch {
                log.debug("systemd was not told that a service is no longer needed: \(error)")
            }
        }
    }
}

/// A service, as the manager has reported it. It belongs to the loop.
private final class Service {
    let name: String
    /// The process; nil until the manager has started it.
    private(set) var pid: CInt?
    /// How the process ended; nil while it runs.
    var exit: ProcessExit? { didSet { stopWaiting() } }
    /// The unit's state, such as `active` (org.freedesktop.systemd1(5), `ActiveState`); nil until the manager has said it.
    private(set) var state: String?
    /// How the process had ended by the time that its start succeeded or failed; nil if it was running.
    private(set) var exitAtStart: ProcessExit?
    /// Takes the exit.
    var report: (@Sendable (ProcessExit) -> Void)?
    /// Takes the manager's reports until it is cancelled.
    var reports: Task<Void, Never>?
    private var isSettled = false
    private var waiter: CheckedContinuation<Void, Never>?
    private var endWaiter: CheckedContinuation<Void, Never>?

    init(_ name: String) { self.name = name }

    deinit { reports?.cancel() }

    /// Takes over the values of some properties. The manager reports those of a service before those of its unit.
    func note(_ properties: [String: Value]) {
        if case .uint32(let number)? = properties["ExecMainPID"], number > 0 { pid = CInt(exactly: number) }
        if case .int32(let code)? = properties["ExecMainCode"], case .int32(let status)? = properties["ExecMainStatus"],
            code != 0
        {
            exit = code == CLD_EXITED ? .exited(status: status) : .signalled(status)
        }
        guard case .string(let state)? = properties["ActiveState"] else { return }
        self.state = state
        // A service that has not begun to start is inactive too.
        if state == "active" || state == "failed" || pid != nil && state != "activating" { settle() }
    }

    /// Ends the wait.
    func settle() {
        if !isSettled { exitAtStart = exit }
        isSettled = true
        waiter?.resume()
        waiter = nil
    }

    /// Returns when it is known how the process ended, or the wait was ended.
    func waitUntilEnded() async {
        await withCheckedContinuation { continuation in
            if exit == nil { endWaiter = continuation } else { continuation.resume() }
        }
    }

    /// Ends the wait for the end of the process.
    func stopWaiting() {
        endWaiter?.resume()
        endWaiter = nil
    }

    /// Returns when the start has succeeded or failed, or the wait was ended.
    func waitUntilSettled() async {
        await withCheckedContinuation { continuation in
            if isSettled { continuation.resume() } else { waiter = continuation }
        }
    }
}

/// A handler's share of the processors and the disks, in comparison with other programs of the user
/// (systemd.resource-control(5), `CPUWeight=` and `IOWeight=`).
enum ProcessWeight: UInt64 {
    /// The weight of programs that have none of their own.
    case foreground = 100
    case background = 20
}

extension ProcessServices {
    /// Gives a process the weight of its state, if it is in a unit that a router asked for. A failure changes nothing
    /// but speed, so it is only logged.
    func weigh(_ process: pid_t, _ weight: ProcessWeight) async {
        guard let unit = findUnit(process), unit.hasPrefix(TransientUnit.prefix) else { return }
        let change = UnitChange(
            name: unit,
            properties: ["CPUWeight", "IOWeight"].map { ($0, .uint64(weight.rawValue)) }
        )
        do throws(CallError) {
            let method = SystemdManager.setUnitProperties
            _ = try await connection.call(method, on: object(SystemdManager.object.path), change, timeout: timeout)
        } catch {
            log.debug("systemd did not change the weight of \(unit): \(error)")
        }
    }
}
