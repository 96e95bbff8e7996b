internal import CDBus

/// An error that another program returned.
public struct RemoteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error's name.
    public let name: ErrorName
    /// The error's text, which may be empty.
    public let message: String
    /// Whether the bus itself answered. The error's name does not show this, because the called program may use the
    /// same names.
    public let isFromBus: Bool

    /// Creates an error. A service throws such an error to return it to the caller.
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

/// The reason why a call gave no result.
public enum CallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The other program returned an error, or the bus did on its behalf.
    case remote(RemoteError)
    /// No answer came within the caller's time limit.
    case timedOut
    /// The calling task was cancelled.
    case cancelled
    /// The connection ended before an answer came, or before the call.
    case disconnected
    /// An argument cannot be sent. Nothing was sent.
    case notSent(MessageEncodingError)
    /// The answer has another type than the method's description.
    case unexpectedReply(MessageDecodingError)

    /// The reason in words.
    public var description: String {
        switch self {
        case .remote(let error): error.description
        case .timedOut: "no answer came in time"
        case .cancelled: "the call was cancelled"
        case .disconnected: "the connection to the bus has ended"
        case .notSent(let error): "the call cannot be sent: \(error)"
        case .unexpectedReply(let error): "the answer is of another type: \(error)"
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
    /// Reads the answer to a call.
    func result<Output: MessageBody>(limit: Int = .max) -> Result<Output, CallError> {
        Self.result(pointer, limit: limit)
    }

    /// Reads the answer to a call from a message that the caller holds.
    static func result<Output: MessageBody>(
        _ pointer: OpaquePointer,
        limit: Int = .max
    ) -> Result<Output, CallError> {
        if dbus_message_get_type(pointer) == DBUS_MESSAGE_TYPE_ERROR {
            return .failure(.remote(remoteError(pointer)))
        }
        do throws(MessageDecodingError) {
            return .success(try body(pointer, limit: limit))
        } catch {
            return .failure(.unexpectedReply(error))
        }
    }

    /// Checks the signature of a body, then reads the body.
    static func body<Body: MessageBody>(_ pointer: OpaquePointer, limit: Int) throws(MessageDecodingError) -> Body {
        try check(pointer, Body.signature)
        var reader = MessageReader(message: pointer, limit: limit)
        return try Body(from: &reader)
    }

    /// Compares a message's signature with the expected one.
    static func check(_ pointer: OpaquePointer, _ expected: Signature) throws(MessageDecodingError) {
        guard expected.withCString({ dbus_message_has_signature(pointer, $0) }) != 0 else {
            let found = dbus_message_get_signature(pointer).map { String(cString: $0) } ?? ""
            throw .wrongType(expected: expected, found: found)
        }
    }

    private static func remoteError(_ pointer: OpaquePointer) -> RemoteError {
        let name = dbus_message_get_error_name(pointer).map { ErrorName(trusted: String(cString: $0)) } ?? .failed
        let sender = dbus_message_get_sender(pointer).map { String(cString: $0) }
        let isFromBus = sender == BusName.bus.rawValue
        var reader = MessageReader(message: pointer, limit: 1 << 20)
        do throws(MessageDecodingError) {
            return RemoteError(name, try reader.readString(), isFromBus: isFromBus)
        } catch {
            // The text is optional, and the first value may have any type.
            return RemoteError(name, "", isFromBus: isFromBus)
        }
    }
}

extension RemoteError {
    /// Whether the call reached no program: the bus answered that the name has no owner and that no service could be
    /// started.
    public var isFromMissingService: Bool {
        isFromBus
            && (name == .serviceUnknown || name == .nameHasNoOwner
                || name.rawValue.hasPrefix("org.freedesktop.DBus.Error.Spawn."))
    }

    /// Whether the called program is running but lacks the object, the interface or the method.
    public var isFromMissingMethod: Bool {
        name == .unknownMethod || name == .unknownObject || name == .unknownInterface
    }
}
