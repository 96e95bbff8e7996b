internal import CLinux
internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Processes
internal import RFC1808
internal import Reactor

/// Puts each process that the router starts into its own systemd scope, if the session has systemd's manager.
///
/// A handler's resources can then be measured, limited and freed separately from those of the router and of other
/// handlers, as for the applications that the desktop starts. No launch waits for this: a process runs in the router's
/// own unit until the manager has moved it, and stays there if there is no manager.
actor ProcessScopes {
    nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    private let connection: Connection
    private let log: Logger
    private let timeout: Duration
    private let findUnit: @Sendable (pid_t) -> String?
    private var hasFailed = false

    /// - Parameters:
    ///   - timeout: the time limit for the manager's answer.
    ///   - findUnit: returns the unit that a process is in; tests use their own.
    init(
        _ connection: Connection,
        log: Logger,
        timeout: Duration = .seconds(5),
        findUnit: @escaping @Sendable (pid_t) -> String? = { UInt32(exactly: $0).flatMap(ProcessUnit.name) }
    ) {
        self.connection = connection
        self.log = log
        self.timeout = timeout
        self.findUnit = findUnit
    }

    /// Requests a scope for a process, and logs the first failure.
    func add(_ pid: CInt, id: String) async {
        let scope = TransientScope(of: pid, id: id, number: .random(in: .min ... .max))
        do throws(CallError) {
            let method = SystemdManager.startTransientUnit
            try await connection.call(method, on: SystemdManager.object, scope, timeout: timeout)
        } catch {
            if case .remote(let error) = error, error.isFromMissingService { return }
            // The manager refuses a process that has already exited.
            let isGone = kill(pid, 0) != 0 && errno == ESRCH
            guard !hasFailed, !isGone else { return }
            hasFailed = true
            log.warning(
                "systemd did not give it a scope (reported only once): \(error)",
                metadata: ["handler": "\(id)"]
            )
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

extension ProcessScopes {
    /// Gives a process the weight of its state, if it is in a scope that a router asked for. A failure changes nothing
    /// but speed, so it is only logged.
    func weigh(_ process: pid_t, _ weight: ProcessWeight) async {
        guard let unit = findUnit(process), unit.hasPrefix(TransientScope.prefix) else { return }
        let change = UnitChange(
            name: unit,
            properties: ["CPUWeight", "IOWeight"].map { ($0, .uint64(weight.rawValue)) }
        )
        do throws(CallError) {
            let method = SystemdManager.setUnitProperties
            _ = try await connection.call(method, on: SystemdManager.object, change, timeout: timeout)
        } catch {
            log.debug("systemd did not change the weight of \(unit): \(error)")
        }
    }
}

extension SystemdManager {
    static let setUnitProperties = Method<UnitChange, Empty>(interface, "SetUnitProperties")
    static let startTransientUnit = Method<TransientScope, ObjectPath>(interface, "StartTransientUnit")
}

/// Arguments of `StartTransientUnit`: a scope and its processes.
struct TransientScope: MessageBody {
    /// The unit's name, the mode of its start job, its properties, and auxiliary units.
    static let signature: Signature = "ssa(sv)a(sa(sv))"

    /// How the name of each scope begins that a router asks for.
    static let prefix = "app-openurl-"

    let name: String
    let mode: String
    let properties: [(name: String, value: Value)]

    /// Creates a scope for a running process (systemd.scope(5)), in the slice for the user's applications
    /// (systemd.special(7)).
    ///
    /// - Parameter number: makes the name unique among the scopes of the same application.
    init(of pid: CInt, id: String, number: UInt64) {
        name = Self.name(id, number)
        mode = "fail"
        properties = [
            ("Description", .string("\(id), started by openurl")),
            ("Slice", "app.slice"),
            ("PIDs", .array([.uint32(UInt32(bitPattern: pid))], of: "u")),
            // Forget a failed scope as well, or its name would stay in use.
            ("CollectMode", "inactive-or-failed"),
            // When the session ends, units stop in reverse order: first the router, with its handlers' answers, then
            // the handlers, and finally the bus.
            ("After", .array(["dbus.service", "dbus.socket"], of: "s")),
            ("Before", .array(["openurld.service"], of: "s")),
        ]
    }

    /// Returns `app-LAUNCHER-APPLICATION-RANDOM.scope` ("XDG standardization for applications" in systemd's "Desktop
    /// Environment Integration"). If this would be longer than 255 bytes, the application's name is truncated.
    static func name(_ id: String, _ number: UInt64) -> String {
        let number = String(number, radix: 16)
        let length = 255 - "\(prefix)-\(number).scope".utf8.count
        var escaped = ""
        for (index, byte) in id.utf8.enumerated() {
            let part = escape(byte, isFirst: index == 0)
            guard escaped.utf8.count + part.utf8.count <= length else { break }
            escaped += part
        }
        return "\(prefix)\(escaped)-\(number).scope"
    }

    /// Returns a byte as it is written in a unit's name (systemd.unit(5), "String Escaping for Inclusion in Unit
    /// Names").
    private static func escape(_ byte: UInt8, isFirst: Bool) -> String {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "_"):
            String(UnicodeScalar(byte))
        case UInt8(ascii: "."): isFirst ? "\\x2e" : "."
        case UInt8(ascii: "/"): "-"
        default: "\\x" + byte.hexDigits
        }
    }

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        name = try reader.readString()
        mode = try reader.readString()
        properties = try reader.readUnitProperties()
    }

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.append(name)
        try writer.append(mode)
        try writer.appendUnitProperties(properties)
        try writer.appendArray(of: "(sa(sv))") { (_) throws(MessageEncodingError) in }
    }
}

/// Arguments of `SetUnitProperties`: a unit, and the properties to change until it ends.
struct UnitChange: MessageBody {
    /// The unit's name, whether the change is temporary, and the properties.
    static let signature: Signature = "sba(sv)"

    let name: String
    let properties: [(name: String, value: Value)]

    init(name: String, properties: [(name: String, value: Value)]) {
        self.name = name
        self.properties = properties
    }

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        name = try reader.readString()
        _ = try reader.readBool()
        properties = try reader.readUnitProperties()
    }

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.append(name)
        try writer.append(true)
        try writer.appendUnitProperties(properties)
    }
}

extension MessageReader {
    fileprivate mutating func readUnitProperties() throws(MessageDecodingError) -> [(name: String, value: Value)] {
        var properties: [(name: String, value: Value)] = []
        try readArray { (reader) throws(MessageDecodingError) in
            try reader.readStructure { (reader) throws(MessageDecodingError) in
                properties.append((try reader.readString(), try reader.readVariant()))
            }
        }
        return properties
    }
}

extension MessageWriter {
    fileprivate mutating func appendUnitProperties(
        _ properties: [(name: String, value: Value)]
    ) throws(MessageEncodingError) {
        try appendArray(of: "(sv)") { (writer) throws(MessageEncodingError) in
            for (name, value) in properties {
                try writer.appendStructure { (writer) throws(MessageEncodingError) in
                    try writer.append(name)
                    try writer.appendVariant(value)
                }
            }
        }
    }
}
