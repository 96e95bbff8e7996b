public import DBus

/// How a URL is to be opened: the `options` of `OpenURL`.
public struct OpenOptions: Sendable, Hashable {
    /// Handed to the handler untouched.
    public var annotation: Value?
    /// Opens with the handler of this bundle identifier only.
    public var handler: String?
    /// The caller's time limit for the whole open, whole milliseconds; without one the handler's own holds (20 s unless
    /// its manifest says otherwise).
    public var timeout: Duration?
    /// Leaves the foreground as it is: the handler is launched into the background, or stays there.
    public var inBackground = false
    /// Stores the URL and returns: it is delivered when that is possible, also by a later router, and tried again when it
    /// fails. A time limit then holds for each attempt.
    public var isQueued = false
    /// Passed on to the handler, so that the window system lets it take the focus (`XDG_ACTIVATION_TOKEN`).
    public var activationToken: String?
    /// Passed on to the handler (`DESKTOP_STARTUP_ID`).
    public var desktopStartupID: String?
    /// How many URLs ``fallback`` may hold.
    public static let maximumFallbacks = 16

    /// Other URLs to try in turn when the one before has no handler.
    public var fallback: [String] = []

    /// No options.
    public init() {}

    fileprivate enum Key {
        static let annotation = "annotation"
        static let handler = "handler"
        static let timeout = "timeout"
        static let background = "background"
        static let delivery = "delivery"
        static let activationToken = "activation-token"
        static let desktopStartupID = "desktop-startup-id"
        static let fallback = "fallback"
    }

    fileprivate enum Delivery {
        static let now = "now"
        static let queued = "queued"
    }
}

extension OpenOptions: DBusType {
    /// `a{sv}`
    public static var signature: Signature { "a{sv}" }

    /// Reads the options. Keys that are not known are ignored; a known one of another type is an error.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let options = OptionReader(options: try [String: Value](from: &reader))
        annotation = options.options[Key.annotation]
        handler = try options.string(Key.handler)
        timeout = try options.uint32(Key.timeout).map { .milliseconds(Int($0)) }
        inBackground = try options.bool(Key.background) ?? false
        activationToken = try options.string(Key.activationToken)
        desktopStartupID = try options.string(Key.desktopStartupID)
        fallback = try options.strings(Key.fallback) ?? []
        guard fallback.count <= Self.maximumFallbacks else {
            throw .invalidValue("'\(Key.fallback)' holds more than \(Self.maximumFallbacks) URLs")
        }
        switch try options.string(Key.delivery) {
        case nil, Delivery.now: isQueued = false
        case Delivery.queued: isQueued = true
        // A caller that asks for more than there is must not believe that it has it.
        case _: throw .invalidValue("'\(Key.delivery)' can only be '\(Delivery.now)' or '\(Delivery.queued)'")
        }
    }

    /// Appends the options that are set.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        var options: [String: Value] = [:]
        options[Key.annotation] = annotation
        options[Key.handler] = handler.map(Value.string)
        options[Key.timeout] = timeout.map { .uint32(UInt32(clamping: $0.milliseconds)) }
        if inBackground { options[Key.background] = .boolean(true) }
        if isQueued { options[Key.delivery] = .string(Delivery.queued) }
        options[Key.activationToken] = activationToken.map(Value.string)
        options[Key.desktopStartupID] = desktopStartupID.map(Value.string)
        if !fallback.isEmpty { options[Key.fallback] = .array(fallback.map(Value.string), of: "s") }
        try options.write(to: &writer)
    }
}

extension Duration {
    /// Whole milliseconds, rounded up.
    fileprivate var milliseconds: Int64 {
        components.seconds * 1000 + (components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
