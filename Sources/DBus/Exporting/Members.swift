/// A method as both sides know it: the same value calls it, exports it and describes it to others.
public struct Method<Input: MessageBody, Output: MessageBody>: Sendable {
    /// The interface that the method belongs to.
    public let interface: InterfaceName
    /// The method's name.
    public let name: MemberName
    /// What the arguments are called, for introspection; as many as ``MessageBody/signature`` of `Input` has types, or none
    /// at all, and they are called `arg0` and so on.
    public let inputs: [String]
    /// What the results are called, for introspection.
    public let outputs: [String]

    /// Describes a method.
    public init(_ interface: InterfaceName, _ name: MemberName, inputs: [String] = [], outputs: [String] = []) {
        self.interface = interface
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
    }
}

/// A signal as both sides know it.
public struct Signal<Body: MessageBody>: Sendable {
    /// The interface that the signal belongs to.
    public let interface: InterfaceName
    /// The signal's name.
    public let name: MemberName
    /// What the values are called, for introspection.
    public let arguments: [String]

    /// Describes a signal.
    public init(_ interface: InterfaceName, _ name: MemberName, arguments: [String] = []) {
        self.interface = interface
        self.name = name
        self.arguments = arguments
    }
}

/// A property that can be read, as both sides know it.
public struct Property<Content: DBusType>: Sendable {
    /// The interface that the property belongs to.
    public let interface: InterfaceName
    /// The property's name.
    public let name: MemberName

    /// Describes a property.
    public init(_ interface: InterfaceName, _ name: MemberName) {
        self.interface = interface
        self.name = name
    }
}
