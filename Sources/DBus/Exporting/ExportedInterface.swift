/// Who calls a method that this program exports.
public struct IncomingCall: Sendable {
    /// The connection that the call came on: what the kernel says of the other end of one without a bus is its
    /// ``Connection/peerCredentials``.
    public let connection: Connection
    /// The caller's unique name, which the bus vouches for; nil on a connection without a bus.
    public let sender: BusName?
    /// The object that is called.
    public let path: ObjectPath
}

/// An interface with what its members do: the value that dispatch and introspection both read.
public struct ExportedInterface: Sendable {
    /// The interface's name.
    public let name: InterfaceName
    let methods: [MemberName: ExportedMethod]
    let properties: [MemberName: ExportedProperty]
    let signals: [ExportedSignal]

    /// Puts members together.
    ///
    /// - Parameter members: each member once; those of another interface are a mistake in the source.
    public init(_ name: InterfaceName, _ members: [Member]) {
        var methods: [MemberName: ExportedMethod] = [:]
        var properties: [MemberName: ExportedProperty] = [:]
        var signals: [ExportedSignal] = []
        for member in members {
            precondition(member.interface == name, "\(member.interface) is not \(name)")
            switch member.content {
            case .method(let method): methods[method.name] = method
            case .property(let property): properties[property.name] = property
            case .signal(let signal): signals.append(signal)
            }
        }
        self.name = name
        self.methods = methods
        self.properties = properties
        self.signals = signals
    }

    /// One member of an interface and what it does.
    public struct Member: Sendable {
        enum Content: Sendable {
            case method(ExportedMethod)
            case property(ExportedProperty)
            case signal(ExportedSignal)
        }

        let interface: InterfaceName
        let content: Content

        /// A method; `body` runs on the connection's event loop, in a task of its own.
        ///
        /// Calls start in the order in which they arrive, and one that waits holds up no other. An error that `body`
        /// throws is the answer.
        public static func method<Input: MessageBody, Output: MessageBody>(
            _ method: Method<Input, Output>,
            _ body: @escaping @Sendable (IncomingCall, Input) async throws -> Output
        ) -> Member {
            let exported = ExportedMethod(
                name: method.name,
                inputs: Self.named(method.inputs, Input.signature),
                outputs: Self.named(method.outputs, Output.signature),
                inputSignature: Input.signature
            ) { (reader) throws(MessageDecodingError) -> ExportedMethod.Body in
                let input = try Input(from: &reader)
                return { call in try await body(call, input) }
            }
            return Member(interface: method.interface, content: .method(exported))
        }

        /// A property that others may read, and set where there is a `set`; both run on the connection's event loop.
        ///
        /// - Parameters:
        ///   - change: what the description promises of ``Connection/emitChange(of:at:)``.
        ///   - content: called each time somebody reads the property.
        ///   - set: takes a new value; an error that it throws is the answer, and ``Connection/emitChange(of:at:)`` tells
        ///     the others.
        public static func property<Content: DBusType>(
            _ property: Property<Content>,
            emitsChange change: PropertyChange = .never,
            set: (@Sendable (Content) throws -> Void)? = nil,
            _ content: @escaping @Sendable () -> Content
        ) -> Member {
            var write: (@Sendable (Value) throws -> Void)?
            if let set { write = { try set(try $0.converted()) } }
            let exported = ExportedProperty(
                name: property.name,
                signature: Content.signature,
                change: change,
                read: { PropertyValue(content()) },
                write: write
            )
            return Member(interface: property.interface, content: .property(exported))
        }

        /// A signal that this program emits.
        public static func signal<Body: MessageBody>(_ signal: Signal<Body>) -> Member {
            let exported = ExportedSignal(name: signal.name, arguments: Self.named(signal.arguments, Body.signature))
            return Member(interface: signal.interface, content: .signal(exported))
        }

        private static func named(_ names: [String], _ signature: Signature) -> [Argument] {
            let types = signature.elements
            // Names are for people, who may do without.
            let names = names.isEmpty ? types.indices.map { "arg\($0)" } : names
            precondition(names.count == types.count, "\(types.count) arguments are described with \(names.count) names")
            return zip(names, types).map { Argument(name: $0, type: $1) }
        }
    }
}

/// What a property's description promises of its changes: the annotation
/// `org.freedesktop.DBus.Property.EmitsChangedSignal` of the D-Bus specification.
public enum PropertyChange: String, Sendable, Hashable {
    /// They are not told.
    case never = "false"
    /// `PropertiesChanged` carries the new value.
    case value = "true"
    /// `PropertiesChanged` names the property, for others to read.
    case invalidation = "invalidates"
    /// There are none as long as the object exists.
    case constant = "const"
}

struct Argument: Sendable {
    let name: String
    let type: Signature
}

struct ExportedMethod: Sendable {
    let name: MemberName
    let inputs: [Argument]
    let outputs: [Argument]
    let inputSignature: Signature
    /// Takes the arguments out of the message, which is gone when the method runs.
    let begin: @Sendable (inout MessageReader) throws(MessageDecodingError) -> Body

    /// The method with its arguments; returns what it answers.
    typealias Body = @Sendable (IncomingCall) async throws -> any MessageBody
}

struct ExportedProperty: Sendable {
    let name: MemberName
    let signature: Signature
    let change: PropertyChange
    let read: @Sendable () -> PropertyValue
    let write: (@Sendable (Value) throws -> Void)?
}

struct ExportedSignal: Sendable {
    let name: MemberName
    let arguments: [Argument]
}
