public import DBus

/// `org.openurl.Queue1`, at the router's object: the URLs that were accepted with `delivery` `queued`.
///
/// Every program of the user's may ask. Those for one handler are delivered one after the other. One that fails is tried again
/// after 1, 2, 4 … 60 s; what a handler refuses or takes too long for, and what has failed eight times, is kept until somebody
/// retries or drops it, or there are a thousand later ones. Methods that name one are the error
/// `org.freedesktop.DBus.Error.InvalidArgs` where there is none of that number.
public enum QueueInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Queue1"

    /// The URLs of the queue after the one of a number, at most ``pageSize``, in the order of their numbers; after an empty text
    /// the first ones. There are no more after an answer without any.
    public static let list = Method<String, [QueuedURL]>(name, "List", inputs: ["after"], outputs: ["urls"])
    /// How many URLs one answer of ``list`` holds: they may be long.
    public static let pageSize = 128
    /// Tries one again now, with all of its attempts; one that is being delivered is left alone.
    public static let retry = Method<String, Empty>(name, "Retry", inputs: ["id"])
    /// Forgets one. What is being delivered right now may arrive all the same.
    public static let drop = Method<String, Empty>(name, "Drop", inputs: ["id"])
    /// What has become of one: a raw value of ``QueuedURL/State``.
    public static let stateChanged = Signal<Arguments<String, String>>(
        name,
        "StateChanged",
        arguments: ["id", "state"]
    )
}

/// One URL of the queue.
public struct QueuedURL: Sendable, Hashable {
    /// What becomes of it.
    public enum State: String, Sendable, Hashable {
        /// It is delivered when its time has come.
        case waiting
        /// A handler has it, or is being started for it.
        case delivering
        /// It is not tried again unless somebody asks for it: a dead letter.
        case dead
        /// A handler has taken it, and it is in the queue no more.
        case delivered
    }

    /// Its number.
    public var id: String
    /// The URL as it arrived.
    public var url: String
    /// What would have got it when it arrived.
    public var handler: String
    /// What becomes of it.
    public var state: State
    /// How often it was tried.
    public var attempts: UInt32
    /// When it was accepted, in seconds since 1970.
    public var accepted: UInt64
    /// When it is tried next, in seconds since 1970, where it waits for that.
    public var next: UInt64?
    /// Why the last attempt failed.
    public var error: RemoteError?

    /// Makes an entry.
    public init(id: String, url: String, handler: String, state: State, attempts: UInt32, accepted: UInt64) {
        self.id = id
        self.url = url
        self.handler = handler
        self.state = state
        self.attempts = attempts
        self.accepted = accepted
    }
}

extension QueuedURL: DBusType {
    /// `a{sv}`
    public static var signature: Signature { "a{sv}" }

    /// Reads an entry; keys that are not known are ignored.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let options = OptionReader(options: try [String: Value](from: &reader))
        guard let id = try options.string("id"), let url = try options.string("url"),
            let state = try options.string("state")
        else { throw .invalidValue("a queued URL without an id, a URL or a state") }
        guard let state = State(rawValue: state) else { throw .invalidValue("'\(state)' is no state of a queued URL") }
        self.init(
            id: id,
            url: url,
            handler: try options.string("handler") ?? "",
            state: state,
            attempts: try options.uint32("attempts") ?? 0,
            accepted: try options.uint64("accepted") ?? 0
        )
        next = try options.uint64("next")
        if let name = try options.string("error") {
            error = RemoteError(ErrorName(name) ?? .failed, try options.string("message") ?? "")
        }
    }

    /// Appends the entry.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        var options: [String: Value] = [
            "id": .string(id), "url": .string(url), "handler": .string(handler), "state": .string(state.rawValue),
            "attempts": .uint32(attempts), "accepted": .uint64(accepted),
        ]
        options["next"] = next.map(Value.uint64)
        options["error"] = error.map { .string($0.name.rawValue) }
        options["message"] = error.map { .string($0.message) }
        try options.write(to: &writer)
    }
}
