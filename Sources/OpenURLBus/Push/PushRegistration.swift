internal import DBus

/// A handler's registration for pushes.
public struct PushRegistration: Sendable, Hashable {
    /// The handler's bundle identifier.
    public var handler: String
    /// The handler's own name for the registration; see ``PushOptions/instance``.
    public var instance: String
    /// The distributor's bus name.
    public var distributor: String
    /// The URL at which a server sends a push to the handler. It is empty until the distributor has given one. A program
    /// that knows it can send pushes.
    public var endpoint: String

    /// Creates a registration.
    public init(handler: String, instance: String, distributor: String, endpoint: String = "") {
        self.handler = handler
        self.instance = instance
        self.distributor = distributor
        self.endpoint = endpoint
    }
}

extension PushRegistration: Record {
    package static let fields = FieldList(
        initial: PushRegistration(handler: "", instance: "", distributor: ""),
        Field("handler", { $0.handler }, { $0.handler = $1 }, "The identifier of the handler."),
        Field(
            "instance",
            { $0.instance },
            { $0.instance = $1 },
            omitting: "",
            "The handler's own name for the registration."
        ),
        Field("distributor", { $0.distributor }, { $0.distributor = $1 }, "The bus name of the distributor."),
        Field(
            "endpoint",
            { $0.endpoint },
            { $0.endpoint = $1 },
            omitting: "",
            "The URL at which a server sends a push to the handler."
        )
    )
}
