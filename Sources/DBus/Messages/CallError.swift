internal import CDBus

/// An error that another program answered with.
public struct RemoteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error's name.
    public let name: ErrorName
    /// What it says; may be empty.
    public let message: String
    /// Whether the bus itself answered, and not the program that was called, which may use the bus's names for errors too.
    public let isFromBus: Bool

    /// Makes an error; a service throws one to answer with it.
    public init(_ name: ErrorName, _ message: String) {
        self.init(name, message, isFromBus: false)
    }

    init(_ name: ErrorName, _ message: String, isFromBus: Bool) {
        self.name = name
        self.message = message
        self.isFromBus = isFromBus
    }

    /// The name and the message.
    public var description: String {
        message.isEmpty ? name.rawValue : "\(name.rawValue): \(message)"
    }
}

/// Why a call gave no result.
public enum CallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The other program, or the bus in its place, answered with an error.
    case remote(RemoteError)
    /// No answer came within the time that the caller gave.
    case timedOut
    /// The task that called was cancelled.
    case cancelled
    /// The connection ended before an answer came, or had ended before the call.
    case disconnected
    /// An argument cannot be sent; nothing was.
    case notSent(MessageEncodingError)
    /// The answer is not of the type that the method is described with.
    case unexpectedReply(MessageDecodingError)

    /// The reason for a person.
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

/// An error that a service answers with under a name of its own; any other error is answered as
/// `org.freedesktop.DBus.Error.Failed`.
public protocol DBusErrorConvertible: Error {
    /// The name and the text that the caller gets.
    var dbusError: RemoteError { get }
}

extension RemoteError: DBusErrorConvertible {
    /// The error as it is.
    public var dbusError: RemoteError { self }
}

extension Message {
    /// Reads the answer to a call.
    func result<Output: MessageBody>(limit: Int = .max) -> Result<Output, CallError> {
        Self.result(pointer, limit: limit)
    }

    /// Reads the answer to a call from a message that somebody else holds.
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

    /// Reads a body whose signature is checked first.
    static func body<Body: MessageBody>(_ pointer: OpaquePointer, limit: Int) throws(MessageDecodingError) -> Body {
        try check(pointer, Body.signature)
        var reader = MessageReader(message: pointer, limit: limit)
        return try Body(from: &reader)
    }

    /// Compares a message's signature with the expected one.
    static func check(_ pointer: OpaquePointer, _ expected: Signature) throws(MessageDecodingError) {
        guard dbus_message_has_signature(pointer, expected.rawValue) != 0 else {
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
            // The text is optional and may be of any type.
            return RemoteError(name, "", isFromBus: isFromBus)
        }
    }
}

extension RemoteError {
    /// Whether the bus says that nobody owns the called name and nothing could be started to own it: the call reached nobody.
    public var isFromMissingService: Bool {
        isFromBus
            && (name == .serviceUnknown || name == .nameHasNoOwner
                || name.rawValue.hasPrefix("org.freedesktop.DBus.Error.Spawn."))
    }

    /// Whether the called program is there and lacks the object, the interface or the method.
    public var isFromMissingMethod: Bool {
        name == .unknownMethod || name == .unknownObject || name == .unknownInterface
    }
}
