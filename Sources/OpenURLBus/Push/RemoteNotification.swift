package import DBus

/// A push: a message for a handler from its server, which a UnifiedPush distributor has received.
public struct RemoteNotification: Sendable, Hashable {
    /// The bytes that the server has sent, at most 4096. UnifiedPush servers encrypt them (RFC 8291), and only the
    /// handler has the key.
    public var message: [UInt8]
    /// The registration that the message is for; see ``PushOptions/instance``.
    public var instance = ""
    /// The distributor's name for the message; nil if it has none. The same message may arrive twice.
    public var id: String?

    /// Creates a push.
    public init(_ message: [UInt8]) {
        self.message = message
    }
}

extension RemoteNotification: Record {
    package static let fields = FieldList(
        initial: RemoteNotification([]),
        Field(
            "message",
            { $0.message },
            { $0.message = $1 },
            "The bytes that the server has sent."
        ),
        Field(
            "instance",
            { $0.instance },
            { $0.instance = $1 },
            omitting: "",
            "The handler's name for the registration."
        ),
        Field("id", { $0.id }, { $0.id = $1 }, "The distributor's name for the message.")
    )
}

extension UInt8: FieldValue {
    package init?(value: Value) {
        guard case .byte(let byte) = value else { return nil }
        self = byte
    }

    package var content: FieldContent { .value(.byte(self)) }
}
