public import DBus

/// The D-Bus interfaces of UnifiedPush (<https://unifiedpush.org/specifications/dbus/>, version 0.3.0, and the earlier
/// one with the number 1).
///
/// A distributor receives messages from servers. A connector registers with it, and gets the messages. Each message has
/// the token of its registration, which only the distributor and the connector know.
public enum UnifiedPush {
    /// The beginning of each distributor's bus name.
    public static let distributorPrefix = "org.unifiedpush.Distributor."
    /// The path of each distributor's object.
    public static let distributorPath: ObjectPath = "/org/unifiedpush/Distributor"
    /// The path of each connector's object.
    public static let connectorPath: ObjectPath = "/org/unifiedpush/Connector"
    /// Maximum size of a message in bytes.
    public static let messageBytes = 4096
    /// Maximum size of an endpoint in bytes.
    public static let endpointBytes = 1000
    /// Maximum size of a description, of a key and of a token in bytes.
    public static let textBytes = 100

    /// The interface of connectors.
    public static let connector: InterfaceName = "org.unifiedpush.Connector2"
    /// Hands a message to the connector: `token`, `message` and `id`. The answer, with the `id`, acknowledges it.
    public static let message = Method<[String: Value], [String: Value]>(
        connector,
        "Message",
        inputs: ["args"],
        outputs: ["res"]
    )
    /// Tells the connector the `endpoint` of a `token`.
    public static let newEndpoint = Method<[String: Value], [String: Value]>(
        connector,
        "NewEndpoint",
        inputs: ["args"],
        outputs: ["res"]
    )
    /// Tells the connector that the registration of a `token` has ended.
    public static let unregistered = Method<[String: Value], [String: Value]>(
        connector,
        "Unregistered",
        inputs: ["args"],
        outputs: ["res"]
    )

    /// The interface of distributors.
    public static let distributor: InterfaceName = "org.unifiedpush.Distributor2"
    /// Registers a connector: `service`, `token`, `description` and `vapid`. The answer has `success` and `reason`.
    public static let register = Method<[String: Value], [String: Value]>(
        distributor,
        "Register",
        inputs: ["args"],
        outputs: ["res"]
    )
    /// Ends the registration of a `token`.
    public static let unregister = Method<[String: Value], [String: Value]>(
        distributor,
        "Unregister",
        inputs: ["args"],
        outputs: ["res"]
    )
    /// The value of `success` for a registration that the distributor has accepted.
    public static let success = "REGISTRATION_SUCCEEDED"

    /// The earlier interface of connectors, whose methods need no answer.
    public static let connector1: InterfaceName = "org.unifiedpush.Connector1"
    /// Hands a message to the connector.
    public static let message1 = Method<Arguments<String, [UInt8], String>, Empty>(
        connector1,
        "Message",
        inputs: ["token", "message", "messageIdentifier"]
    )
    /// Tells the connector the endpoint of a token.
    public static let newEndpoint1 = Method<Arguments<String, String>, Empty>(
        connector1,
        "NewEndpoint",
        inputs: ["token", "endpoint"]
    )
    /// Tells the connector that a registration has ended; the token is empty if the connector has asked for that.
    public static let unregistered1 = Method<String, Empty>(connector1, "Unregistered", inputs: ["token"])

    /// The earlier interface of distributors.
    public static let distributor1: InterfaceName = "org.unifiedpush.Distributor1"
    /// Registers a connector. The first string of the answer is ``success1`` if the distributor has accepted, and the
    /// second one is the reason if it has not.
    public static let register1 = Method<Arguments<String, String, String>, Arguments<String, String>>(
        distributor1,
        "Register",
        inputs: ["serviceName", "token", "description"],
        outputs: ["registrationResult", "registrationResultReason"]
    )
    /// Ends the registration of a token.
    public static let unregister1 = Method<String, Empty>(distributor1, "Unregister", inputs: ["token"])
    /// The result for a registration that the distributor has accepted.
    public static let success1 = "NEW_ENDPOINT"
}
