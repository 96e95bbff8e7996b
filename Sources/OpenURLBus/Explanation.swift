public import DBus

/// What `OpenURL` would do with a URL, and why: the result of `Explain`.
public struct Explanation: Sendable, Hashable {
    /// One handler or application that could have the URL.
    public struct Candidate: Sendable, Hashable {
        /// The bundle identifier, or the name of the desktop file.
        public var id: String
        /// `native`, `freedesktop` or `exec`.
        public var kind: String
        /// The pattern of ``host`` that the URL matches; nil where any host does.
        public var host: String?
        /// Whether it would get the URL.
        public var wins: Bool
        /// Why it won or lost, in words.
        public var reason: String

        /// Makes a candidate.
        public init(id: String, kind: String, host: String?, wins: Bool, reason: String) {
            self.id = id
            self.kind = kind
            self.host = host
            self.wins = wins
            self.reason = reason
        }
    }

    /// The names of the parts that a URL can have, in the order in which they are written. The password is none of them.
    public static let partNames = ["scheme", "user", "host", "port", "path", "parameters", "query", "fragment"]

    /// The URL as it was asked about.
    public var url: String
    /// Its parts as they are written, by ``partNames``, each only where it is present.
    public var parts: [String: String]
    /// What would get the URL; nil where nothing would.
    public var handler: String?
    /// How it would get it: `native` over ``HandlerInterface``, `freedesktop` over `org.freedesktop.Application`, `exec` as an
    /// argument of a command; nil without a handler.
    public var transport: String?
    /// The state that the handler is in, a raw value of ``HandlerState``; nil where that is not known.
    public var state: String?
    /// Who may send URLs to the handler: ids and patterns; nil for anyone.
    public var allowedSources: [String]?
    /// Everything that claims the URL, what would get it first.
    public var candidates: [Candidate]
    /// Why the URL would not be opened for this caller, as the name of the ``OpenURLError`` and its message.
    public var error: (name: String, message: String)? {
        get { errorName.map { ($0, errorMessage ?? "") } }
        set {
            errorName = newValue?.name
            errorMessage = newValue?.message
        }
    }
    private var errorName: String?
    private var errorMessage: String?

    /// An explanation with nothing in it yet.
    public init(url: String) {
        self.url = url
        parts = [:]
        candidates = []
    }
}

extension Explanation: DBusType {
    /// `a{sv}`
    public static var signature: Signature { "a{sv}" }

    /// Reads an explanation; keys that are not known are ignored.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let options = OptionReader(options: try [String: Value](from: &reader))
        self.init(url: try options.string("url") ?? "")
        let parts = OptionReader(options: try options.dictionary("parts") ?? [:])
        for name in Self.partNames { self.parts[name] = try parts.string(name) }
        handler = try options.string("handler")
        transport = try options.string("transport")
        state = try options.string("state")
        allowedSources = try options.strings("allowed-sources")
        errorName = try options.string("error")
        errorMessage = try options.string("message")
        for candidate in try options.dictionaries("candidates") ?? [] {
            let options = OptionReader(options: candidate)
            candidates.append(
                Candidate(
                    id: try options.string("id") ?? "",
                    kind: try options.string("kind") ?? "",
                    host: try options.string("host"),
                    wins: try options.bool("wins") ?? false,
                    reason: try options.string("reason") ?? ""
                )
            )
        }
    }

    /// Appends the explanation.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        var options: [String: Value] = ["url": .string(url), "parts": .options(parts.mapValues(Value.string))]
        options["handler"] = handler.map(Value.string)
        options["transport"] = transport.map(Value.string)
        options["state"] = state.map(Value.string)
        options["allowed-sources"] = allowedSources.map { .array($0.map(Value.string), of: "s") }
        options["error"] = errorName.map(Value.string)
        options["message"] = errorMessage.map(Value.string)
        let entries = candidates.map { candidate in
            var options: [String: Value] = [
                "id": .string(candidate.id), "kind": .string(candidate.kind), "wins": .boolean(candidate.wins),
                "reason": .string(candidate.reason),
            ]
            options["host"] = candidate.host.map(Value.string)
            return Value.options(options)
        }
        options["candidates"] = .array(entries, of: "a{sv}")
        try options.write(to: &writer)
    }
}
