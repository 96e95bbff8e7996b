internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Processes
internal import UserFiles

/// The programs behind the names of the session's services.
///
/// Any program on the bus can take a name that is free, even a program in a sandbox. So the router calls a service, and
/// believes it, only if its name belongs to one of the user's programs that are not confined. Every other owner counts as
/// none. Calls go to the owner's connection, because the name may have another owner by the time that they arrive.
actor ServiceOwners {
    nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    let connection: Connection
    private let log: Logger
    /// The last owner of each name that was asked for, and whether it may be used. A bus never gives a unique name twice.
    ///
    /// An owner that may not be used is examined again each time, because the router may only have lacked descriptors.
    private var known: [BusName: (owner: BusName, isTrusted: Bool)] = [:]

    init(_ connection: Connection, log: Logger) {
        self.connection = connection
        self.log = log
    }

    /// Returns the connection that owns a name; nil if there is none that may be used.
    func owner(of name: BusName) async throws(CallError) -> BusName? {
        guard let owner = try await connection.owner(of: name) else {
            known[name] = nil
            return nil
        }
        if let last = known[name], last.owner == owner, last.isTrusted { return owner }
        let entry = KnownCallers.Entry(owner, try await connection.credentials(of: owner))
        let isManager = name == SystemdManager.name && entry.isServiceManager
        let isTrusted = entry.source.callerClass == .known(.user) || isManager
        // Another task may have been faster.
        if !isTrusted, known[name]?.owner != owner {
            let program = printableLine(entry.source.application ?? entry.source.executable ?? owner.rawValue)
            log.warning("\(name) belongs to a program that may be in a sandbox (\(program)), so it is not used")
        }
        known[name] = (owner, isTrusted)
        return isTrusted ? owner : nil
    }

    /// Returns the same as ``owner(of:)``, but first makes the bus start the service if the name has no owner.
    ///
    /// - Parameters:
    ///   - starting: whether the bus may start the service.
    ///   - timeout: the time limit for the start.
    func owner(of name: BusName, starting: Bool, within timeout: Duration) async throws(CallError) -> BusName? {
        if starting, try await connection.owner(of: name) == nil {
            guard try await connection.activatableNames().contains(name) else { return nil }
            try await connection.startService(name, timeout: timeout)
        }
        return try await owner(of: name)
    }

    /// Returns an object of a service at the connection that owns the service's name.
    ///
    /// - Throws: the bus's error for a name without an owner if there is none that may be used.
    func object(_ path: ObjectPath, of name: BusName) async throws(CallError) -> RemoteObject {
        guard let owner = try await self.owner(of: name) else {
            throw .remote(RemoteError(.nameHasNoOwner, "\(name) has no owner that may be used", isFromBus: true))
        }
        return RemoteObject(owner, path, startsService: false)
    }

    /// Returns whether a process is the user's service manager.
    ///
    /// - Parameters:
    ///   - groups: the content of the process's `cgroup`.
    ///   - user: the user's number.
    static func isServiceManager(_ groups: String, of user: UInt32) -> Bool {
        groups.split(separator: "\n")
            .contains { $0 == "0::/user.slice/user-\(user).slice/user@\(user).service/init.scope" }
    }
}

extension KnownCallers.Entry {
    /// Whether the program is the user's service manager, which is in no sandbox.
    ///
    /// Since version 254, systemd gives the manager a capability that its services lack (`CAP_WAKE_ALARM`), so the kernel does
    /// not show its namespaces to the router. But it shows the control group, which a sandbox can only enter if it may write to
    /// the control groups of the user.
    fileprivate var isServiceManager: Bool {
        guard let process, source.uid == getuid() else { return false }
        let groups = ProcessFiles.bytes("cgroup", pid: process.pid).map { String(decoding: $0, as: UTF8.self) }
        return groups.map { ServiceOwners.isServiceManager($0, of: getuid()) } == true
            && ProcessIdentity(pid: process.pid) == process
    }
}
