public import DBus

/// What a handler is told besides the URL: the `context` of `Open`.
public struct OpenContext: Sendable, Hashable {
    /// Who sent the URL, as far as the bus and the kernel know.
    public struct Source: Sendable, Hashable {
        /// The process's number when it connected to the bus.
        public var pid: UInt32?
        /// The user.
        public var uid: UInt32?
        /// The path of the program that the process runs.
        public var executable: String?
        /// The systemd unit that the process belongs to.
        public var unit: String?
        /// The connection's name on the bus.
        public var uniqueName: String?

        /// Nothing known.
        public init() {}
    }

    /// The sender's bundle identifier, where it is a handler that the router knows; never taken from the sender's words.
    public var sourceApplication: String?
    /// The sender.
    public var source = Source()
    /// What the sender wants the handler to have besides the URL.
    public var annotation: Value?
    /// The token that lets the handler take the focus.
    public var activationToken: String?
    /// The startup notification's name.
    public var desktopStartupID: String?
    /// How many handlers have opened this one in a row; 0 when the sender is none.
    public var hops: UInt32 = 0
    /// When the router accepted the request, in microseconds of ``TracePhase/now``; a trace counts from there.
    public var accepted: UInt64?

    /// The number of a URL that was queued. Whoever must not act on one twice remembers it: after a crash, of the handler or of
    /// the router, the same URL comes again with the same number.
    public var requestID: String?
    /// Whether the handler stays in the background, or is launched into it.
    public var inBackground = false
    /// What has changed while the handler was suspended, the latest value of each kind: delivered before the URL.
    public var notifications: [String: Value] = [:]

    /// Makes a context that says nothing.
    public init() {}

    private enum Key {
        static let sourceApplication = "source-application"
        static let source = "source"
        static let annotation = "annotation"
        static let activationToken = "activation-token"
        static let desktopStartupID = "desktop-startup-id"
        static let hops = "hops"
        static let accepted = "accepted"
        static let requestID = "request-id"
        static let inBackground = "background"
        static let notifications = "notifications"
        static let pid = "pid"
        static let uid = "uid"
        static let executable = "executable"
        static let unit = "unit"
        static let uniqueName = "unique-name"
    }
}

extension OpenContext: DBusType {
    /// `a{sv}`
    public static var signature: Signature { "a{sv}" }

    /// Reads a context; keys that are not known are ignored.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let options = OptionReader(options: try [String: Value](from: &reader))
        sourceApplication = try options.string(Key.sourceApplication)
        let source = OptionReader(options: try options.dictionary(Key.source) ?? [:])
        self.source.pid = try source.uint32(Key.pid)
        self.source.uid = try source.uint32(Key.uid)
        self.source.executable = try source.string(Key.executable)
        self.source.unit = try source.string(Key.unit)
        self.source.uniqueName = try source.string(Key.uniqueName)
        annotation = options.options[Key.annotation]
        activationToken = try options.string(Key.activationToken)
        desktopStartupID = try options.string(Key.desktopStartupID)
        hops = try options.uint32(Key.hops) ?? 0
        accepted = try options.uint64(Key.accepted)
        requestID = try options.string(Key.requestID)
        inBackground = try options.bool(Key.inBackground) ?? false
        notifications = try options.dictionary(Key.notifications) ?? [:]
    }

    /// Appends what is known.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        var source: [String: Value] = [:]
        source[Key.pid] = self.source.pid.map(Value.uint32)
        source[Key.uid] = self.source.uid.map(Value.uint32)
        source[Key.executable] = self.source.executable.map(Value.string)
        source[Key.unit] = self.source.unit.map(Value.string)
        source[Key.uniqueName] = self.source.uniqueName.map(Value.string)
        var options: [String: Value] = [Key.source: .options(source), Key.hops: .uint32(hops)]
        options[Key.sourceApplication] = sourceApplication.map(Value.string)
        options[Key.annotation] = annotation
        options[Key.activationToken] = activationToken.map(Value.string)
        options[Key.desktopStartupID] = desktopStartupID.map(Value.string)
        options[Key.accepted] = accepted.map(Value.uint64)
        options[Key.requestID] = requestID.map(Value.string)
        if inBackground { options[Key.inBackground] = .boolean(true) }
        if !notifications.isEmpty { options[Key.notifications] = .options(notifications) }
        try options.write(to: &writer)
    }
}
