public import DBus

/// How a URL was opened: the `result` of `OpenURL`.
public struct OpenResult: Sendable, Hashable {
    /// How the handler was reached.
    public enum Path: String, Sendable, Hashable {
        /// It was not running and was started.
        case launched
        /// It was suspended and was woken.
        case woken
        /// It was running.
        case active
        /// It was stored and is delivered later.
        case queued
        /// The URL itself had no handler; one of the fallback URLs was opened.
        case fallback
    }

    /// The bundle identifier of the handler that took the URL, or of the one that it would go to now if it was queued.
    public var handler: String
    /// How it was reached.
    public var path: Path
    /// What it answered besides yes.
    public var reply: [String: Value]
    /// What happened, in order.
    public var trace: [TracePhase]

    /// The number of a URL that was queued; see ``QueueInterface``.
    public var id: String?

    /// Makes a result.
    public init(handler: String, path: Path, reply: [String: Value], trace: [TracePhase]) {
        self.handler = handler
        self.path = path
        self.reply = reply
        self.trace = trace
    }

    fileprivate enum Key {
        static let handler = "handler"
        static let path = "path"
        static let reply = "reply"
        static let trace = "trace"
        static let id = "id"
        static let error = "error"
        static let message = "message"
    }

    fileprivate var options: [String: Value] {
        var options: [String: Value] = [
            Key.handler: .string(handler),
            Key.path: .string(path.rawValue),
            Key.reply: .options(reply),
            Key.trace: .array(trace.map(\.value), of: TracePhase.signature),
        ]
        options[Key.id] = id.map(Value.string)
        return options
    }

    fileprivate init(_ options: [String: Value]) throws(MessageDecodingError) {
        let options = OptionReader(options: options)
        guard let handler = try options.string(Key.handler), let path = try options.string(Key.path) else {
            throw .invalidValue("a result without a handler or a path")
        }
        guard let path = Path(rawValue: path) else { throw .invalidValue("'\(path)' is no path") }
        self.init(
            handler: handler,
            path: path,
            reply: try options.dictionary(Key.reply) ?? [:],
            trace: try options.phases(Key.trace) ?? []
        )
        id = try options.string(Key.id)
    }
}

extension OpenResult: DBusType {
    /// `a{sv}`
    public static var signature: Signature { "a{sv}" }

    /// Reads a result.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        try self.init([String: Value](from: &reader))
    }

    /// Appends the result.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try options.write(to: &writer)
    }
}

/// What became of one of several URLs: one of the `results` of `OpenURLs`.
public enum OpenOutcome: DBusType {
    /// It was opened.
    case opened(OpenResult)
    /// It was not: `error` holds the error's name and `message` its text.
    case failed(RemoteError)

    /// `a{sv}`
    public static var signature: Signature { "a{sv}" }

    /// Reads an outcome.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let options = try [String: Value](from: &reader)
        let outcome = OptionReader(options: options)
        guard let name = try outcome.string(OpenResult.Key.error) else {
            self = .opened(try OpenResult(options))
            return
        }
        let message = try outcome.string(OpenResult.Key.message) ?? ""
        self = .failed(RemoteError(ErrorName(name) ?? .failed, message))
    }

    /// Appends the outcome.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        switch self {
        case .opened(let result): try result.write(to: &writer)
        case .failed(let error):
            let options: [String: Value] = [
                OpenResult.Key.error: .string(error.name.rawValue), OpenResult.Key.message: .string(error.message),
            ]
            try options.write(to: &writer)
        }
    }
}
