/// An error that another program has returned.
public struct RemoteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error's name.
    public let name: ErrorName
    /// The error's text. It may be empty.
    public let message: String
    /// Whether the bus itself answered. The name does not show this, because the called program may use the same one.
    public let isFromBus: Bool

    /// Creates an error. If a service throws it, the caller gets it.
    public init(_ name: ErrorName, _ message: String) {
        self.init(name, message, isFromBus: false)
    }

    package init(_ name: ErrorName, _ message: String, isFromBus: Bool) {
        self.name = name
        self.message = message
        self.isFromBus = isFromBus
    }

    /// The name and the text.
    public var description: String {
        message.isEmpty ? name.rawValue : "\(name.rawValue): \(message)"
    }
}

/// Why a call gave no result.
public enum CallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The other program returned an error, or the bus did so on its behalf.
    case remote(RemoteError)
    /// No answer came within the caller's time limit.
    case timedOut
    /// The task that made the call was cancelled.
    case cancelled
    /// The connection ended before the answer, or before the call.
    case disconnected
    /// An argument cannot be sent, so nothing was.
    case notSent(MessageEncodingError)
    /// The answer has a type other than the one that the method's description promises.
    case unexpectedReply(MessageDecodingError)

    /// The reason in words.
    public var description: String {
        switch self {
        case .remote(let error): error.description
        case .timedOut: "no answer came in time"
        case .cancelled: "the call was cancelled"
        case .disconnected: "the connection to the bus has ended"
        case .notSent(let error): "the call cannot be sent: \(error)"
        case .unexpectedReply(let error): "the answer has a different type: \(error)"
        }
    }
}

/// An error that a service returns under a specific D-Bus name.
///
/// Any other error is returned as `org.freedesktop.DBus.Error.Failed`.
public protocol DBusErrorConvertible: Error {
    /// The name and the text that the caller gets.
    var dbusError: RemoteError { get }
}

extension RemoteError: DBusErrorConvertible {
    /// The error itself.
    public var dbusError: RemoteError { self }
}

extension Message {
    /// Whether the message is a signal of this kind. Any program may send such a message.
    func isSignal(_ signal: Signal<some MessageBody>) -> Bool {
        kind == .signal && member == signal.name && interface == signal.interface
    }

    /// Reads the answer to a call.
    func outcome<Output: MessageBody>(limit: Int = .max) throws(CallError) -> Output {
        if kind == .error { throw .remote(remoteError) }
        do throws(MessageDecodingError) {
            return try contents(limit: limit)
        } catch {
            throw .unexpectedReply(error)
        }
    }

    /// Reads the answer to a call, like ``outcome(limit:)``, but returns an error instead of throwing it.
    func result<Output: MessageBody>(limit: Int = .max) -> Result<Output, CallError> {
        do throws(CallError) {
            return .success(try outcome(limit: limit))
        } catch {
            return .failure(error)
        }
    }

    /// Checks the body's signature, then reads the body.
    func contents<Body: MessageBody>(limit: Int) throws(MessageDecodingError) -> Body {
        try check(Body.signature)
        var reader = MessageReader(message: self, limit: limit)
        let body = try Body(from: &reader)
        try reader.expectEnd()
        return body
    }

    /// Compares the body's signature with the expected one.
    func check(_ expected: Signature) throws(MessageDecodingError) {
        let found = UnsafeRawBufferPointer(start: start + signature.lowerBound, count: signature.count)
        guard expected.rawValue.hasBytes(found) else {
            throw .wrongType(expected: expected, found: String(decoding: found, as: UTF8.self))
        }
    }

    private var remoteError: RemoteError {
        let name = errorName ?? .failed
        let isFromBus = sender == .bus
        var reader = MessageReader(message: self, limit: 1 << 20)
        do throws(MessageDecodingError) {
            return RemoteError(name, try reader.readString(), isFromBus: isFromBus)
        } catch {
            // The text is optional, and the first value may have any type.
            return RemoteError(name, "", isFromBus: isFromBus)
        }
    }
}

extension RemoteError {
    /// Whether the call reached no program: according to the bus, the name has no owner and no service could be
    /// started.
    public var isFromMissingService: Bool {
        isFromBus
            && (name == .serviceUnknown || name == .nameHasNoOwner
                || name.rawValue.hasPrefix("org.freedesktop.DBus.Error.Spawn."))
    }

    /// Whether the called program is running but has no such object, interface or method.
    public var isFromMissingMethod: Bool {
        name == .unknownMethod || name == .unknownObject || name == .unknownInterface
    }
}
