internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import UserFiles

extension SystemdManager {
    /// The objects of the units are below this one.
    static let units: ObjectPath = "/org/freedesktop/systemd1/unit"
    /// The interface of units that are services.
    static let service: InterfaceName = "org.freedesktop.systemd1.Service"

    /// The process of a service; 0 before it has started and after it has ended.
    static let mainPID = Property<UInt32>(service, "MainPID")

    static let stopUnit = Method<Arguments<String, String>, ObjectPath>(interface, "StopUnit")
    static let unrefUnit = Method<String, Empty>(interface, "UnrefUnit")
    static let setUnitProperties = Method<UnitChange, Empty>(interface, "SetUnitProperties")
    static let startTransientUnit = Method<TransientUnit, ObjectPath>(interface, "StartTransientUnit")
}

/// Arguments of `StartTransientUnit`: a service that runs one program.
struct TransientUnit: MessageBody {
    /// The unit's name, the mode of its start job, its properties, and auxiliary units.
    static let signature: Signature = "ssa(sv)a(sa(sv))"

    /// How the name of each service begins that a router asks for.
    static let prefix = "app-openurl-"

    let name: String
    let mode: String
    let properties: [(name: String, value: Value)]

    /// Creates a service in the slice for the user's applications (systemd.special(7)).
    ///
    /// - Parameters:
    ///   - number: makes the name unique among the services of the same application.
    ///   - output: the descriptor that becomes the standard output and error.
    ///   - withheld: variables of the manager that the program must not get.
    ///   - stopsBeforeRouter: whether the service may stop before the router's unit has stopped.
    init(
        _ program: ExaminedProgram,
        id: String,
        number: UInt64,
        output: UnixFD,
        withheld: Set<String>,
        stopsBeforeRouter: Bool = false
    ) {
        name = Self.name(id, number)
        mode = "fail"
        // The manager refuses a service with any other name of a variable, and no session has one.
        let environment = program.environment.filter { Self.isVariable($0.key) }
        properties =
            [
                ("Description", .string("\(id), started by openurl")),
                ("Slice", "app.slice"),
                ("Type", "exec"),
                // A program's descendants may outlive it, as those of a shell do.
                ("ExitType", "cgroup"),
                ("OOMPolicy", "continue"),
                ("ExecStartEx", Self.command(program)),
                ("WorkingDirectory", .string(program.directory)),
                ("Environment", .strings(environment.map { "\($0)=\($1)" }.sorted())),
                ("UnsetEnvironment", .strings(withheld.subtracting(environment.keys).sorted())),
                ("StandardOutputFileDescriptor", .unixFD(output)),
                ("StandardErrorFileDescriptor", .unixFD(program.errors ?? output)),
                // The manager keeps the service until the router has learnt how the process ended. Forget a failed service
                // as well, or its name would stay in use.
                ("AddRef", .boolean(true)),
                ("CollectMode", "inactive-or-failed"),
                // When the session ends, units stop in reverse order: first the router, with its handlers' answers, then
                // the handlers, and finally the bus.
                ("After", .strings(["dbus.service", "dbus.socket"])),
                ("Before", .strings(stopsBeforeRouter ? [] : ["openurld.service"])),
            ] + (program.input.map { [("StandardInputFileDescriptor", .unixFD($0))] } ?? [])
    }

    /// The program with all of its `argv`, in which the manager must not replace `$NAME`.
    private static func command(_ program: ExaminedProgram) -> Value {
        let path = program.path.hasPrefix("/") ? program.path : "\(program.directory)/\(program.path)"
        let arguments = Value.strings(program.arguments)
        return .array(
            [.structure([.string(path), arguments, .strings(["no-env-expand"])])],
            of: "(sasas)"
        )
    }

    /// Returns whether systemd takes a string as the name of an environment variable.
    private static func isVariable(_ name: String) -> Bool {
        guard let first = name.utf8.first, !isDigit(first) else { return false }
        return name.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    /// The path of the unit's object on the bus.
    var path: String { Self.path(of: name) }

    /// Returns the path of a unit's object on the bus. Each byte of the name other than a letter or a digit is escaped.
    static func path(of name: String) -> String {
        name.utf8.reduce(into: "\(SystemdManager.units)/") { path, byte in
            path += isLetter(byte) || isDigit(byte) ? String(UnicodeScalar(byte)) : "_" + byte.hexDigits
        }
    }

    /// Returns `app-LAUNCHER-APPLICATION-RANDOM.service` ("XDG standardization for applications" in systemd's "Desktop
    /// Environment Integration"). If this would be longer than 255 bytes, the application's name is truncated.
    static func name(_ id: String, _ number: UInt64) -> String {
        let number = String(number, radix: 16)
        let length = 255 - "\(prefix)-\(number).service".utf8.count
        var escaped = ""
        for (index, byte) in id.utf8.enumerated() {
            let part = escape(byte, isFirst: index == 0)
            guard escaped.utf8.count + part.utf8.count <= length else { break }
            escaped += part
        }
        return "\(prefix)\(escaped)-\(number).service"
    }

    /// Returns a byte as it is written in a unit's name (systemd.unit(5), "String Escaping for Inclusion in Unit
    /// Names").
    private static func escape(_ byte: UInt8, isFirst: Bool) -> String {
        switch byte {
        case UInt8(ascii: ":"), UInt8(ascii: "_"): String(UnicodeScalar(byte))
        case _ where isLetter(byte) || isDigit(byte): String(UnicodeScalar(byte))
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

extension Value {
    fileprivate static func strings(_ strings: [String]) -> Value { .array(strings.map(Value.string), of: "s") }
}
