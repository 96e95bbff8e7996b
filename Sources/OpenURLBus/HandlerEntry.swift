public import DBus

/// One handler as the registry's interface lists it.
public struct HandlerEntry: Sendable, Hashable {
    /// The bundle identifier, or the name of the desktop file.
    public var id: String
    /// What to call it in front of a person.
    public var name: String
    /// The bundle, the manifest or the desktop file.
    public var path: String
    /// The program, as the manifest names it; empty where the desktop's default application stands behind the entry.
    public var executable: String
    /// The schemes that it claims.
    public var schemes: [String]
    /// The names of its schemes in the user's language, by their abstract names (`CFBundleURLName`).
    public var urlNames: [String: String] = [:]
    /// The image to show while it is launched; empty where there is none.
    public var launchImage = ""
    /// How it is reached: `native` over ``HandlerInterface``, `freedesktop` over `org.freedesktop.Application` or, for a
    /// handler of the system's, through the desktop's default application, `exec` as a command.
    public var kind: String
    /// Whether its schemes cannot be taken over.
    public var isFixed: Bool
    /// Its state, a raw value of ``HandlerState``.
    public var state: String
    /// What a person should know about the entry: claims that another handler wins, keys that were left out.
    public var warnings: [String]

    /// Makes an entry.
    public init(
        id: String,
        name: String,
        path: String,
        executable: String,
        schemes: [String],
        kind: String,
        isFixed: Bool,
        state: String,
        warnings: [String]
    ) {
        self.id = id
        self.name = name
        self.path = path
        self.executable = executable
        self.schemes = schemes
        self.kind = kind
        self.isFixed = isFixed
        self.state = state
        self.warnings = warnings
    }
}

extension HandlerEntry: DBusType {
    /// `a{sv}`
    public static var signature: Signature { "a{sv}" }

    /// Reads an entry; keys that are not known are ignored.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let options = OptionReader(options: try [String: Value](from: &reader))
        guard let id = try options.string("id") else { throw .invalidValue("a handler without an id") }
        self.init(
            id: id,
            name: try options.string("name") ?? id,
            path: try options.string("path") ?? "",
            executable: try options.string("executable") ?? "",
            schemes: try options.strings("schemes") ?? [],
            kind: try options.string("kind") ?? "",
            isFixed: try options.bool("fixed") ?? false,
            state: try options.string("state") ?? "",
            warnings: try options.strings("warnings") ?? []
        )
        urlNames = try options.stringDictionary("url-names") ?? [:]
        launchImage = try options.string("launch-image") ?? ""
    }

    /// Appends the entry.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        let options: [String: Value] = [
            "id": .string(id),
            "name": .string(name),
            "path": .string(path),
            "executable": .string(executable),
            "schemes": .array(schemes.map(Value.string), of: "s"),
            "url-names": .dictionary(
                Dictionary(uniqueKeysWithValues: urlNames.map { (Value.string($0), Value.string($1)) }),
                key: "s",
                value: "s"
            ),
            "launch-image": .string(launchImage),
            "kind": .string(kind),
            "fixed": .boolean(isFixed),
            "state": .string(state),
            "warnings": .array(warnings.map(Value.string), of: "s"),
        ]
        try options.write(to: &writer)
    }
}

/// One handler as the lifecycle's interface lists it.
public struct HandlerStatus: Sendable, Hashable {
    /// The bundle identifier.
    public var id: String
    /// Its state, a raw value of ``HandlerState``.
    public var state: String
    /// The process, where there is one.
    public var pid: UInt32?
    /// When the router first saw the process, in seconds since 1970.
    public var since: UInt64?
    /// The process's resident memory in bytes.
    public var residentMemory: UInt64?
    /// The names of the background tasks that are open.
    public var backgroundTasks: [String] = []

    /// Makes an entry.
    public init(id: String, state: String, pid: UInt32? = nil, since: UInt64? = nil, residentMemory: UInt64? = nil) {
        self.id = id
        self.state = state
        self.pid = pid
        self.since = since
        self.residentMemory = residentMemory
    }
}

extension HandlerStatus: DBusType {
    /// `a{sv}`
    public static var signature: Signature { "a{sv}" }

    /// Reads an entry; keys that are not known are ignored.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let options = OptionReader(options: try [String: Value](from: &reader))
        guard let id = try options.string("id") else { throw .invalidValue("a status without an id") }
        self.init(
            id: id,
            state: try options.string("state") ?? "",
            pid: try options.uint32("pid"),
            since: try options.uint64("since"),
            residentMemory: try options.uint64("memory")
        )
        backgroundTasks = try options.strings("background-tasks") ?? []
    }

    /// Appends the entry.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        var options: [String: Value] = ["id": .string(id), "state": .string(state)]
        options["pid"] = pid.map(Value.uint32)
        options["since"] = since.map(Value.uint64)
        options["memory"] = residentMemory.map(Value.uint64)
        if !backgroundTasks.isEmpty {
            options["background-tasks"] = .array(backgroundTasks.map(Value.string), of: "s")
        }
        try options.write(to: &writer)
    }
}
