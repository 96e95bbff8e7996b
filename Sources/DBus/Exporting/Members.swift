/// The description of a method, shared by its callers and the service that exports it.
public struct Method<Input: MessageBody, Output: MessageBody>: Sendable {
    /// The interface that the method belongs to.
    public let interface: InterfaceName
    /// The method's name.
    public let name: MemberName
    /// Names of the arguments, for introspection.
    ///
    /// There are as many as there are types in the ``MessageBody/signature`` of `Input`, or none. Without names, the
    /// arguments are called `arg0` and so on.
    public let inputs: [String]
    /// Names of the results, for introspection.
    public let outputs: [String]
    /// The types of the arguments; nil if they break a rule, and then no call can be sent. This is computed once, not for
    /// each call.
    let inputSignature: Signature?

    /// Creates a description of a method.
    public init(_ interface: InterfaceName, _ name: MemberName, inputs: [String] = [], outputs: [String] = []) {
        inputSignature = Input.signature.isSendable ? Input.signature : nil
        self.interface = interface
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
    }
}

/// The description of a signal, shared by its subscribers and the service that emits it.
public struct Signal<Body: MessageBody>: Sendable {
    /// The interface that the signal belongs to.
    public let interface: InterfaceName
    /// The signal's name.
    public let name: MemberName
    /// Names of the values, for introspection.
    public let arguments: [String]

    /// Creates a description of a signal.
    public init(_ interface: InterfaceName, _ name: MemberName, arguments: [String] = []) {
        self.interface = interface
        self.name = name
        self.arguments = arguments
    }
}

/// The description of a readable property, shared by its callers and the service that exports it.
public struct Property<Content: DBusType>: Sendable {
    /// The interface that the property belongs to.
    public let interface: InterfaceName
    /// The property's name.
    public let name: MemberName

    /// Creates a description of a property.
    public init(_ interface: InterfaceName, _ name: MemberName) {
        self.interface = interface
        self.name = name
    }
}
