internal import Reactor

/// A call to a method that this program exports.
public struct IncomingCall: Sendable {
    /// The connection on which the call arrived. Without a bus, its ``Connection/peerCredentials`` show who is at the
    /// other end.
    public let connection: Connection
    /// The caller's unique name, which the bus guarantees. Without a bus, it is the name that this program has given
    /// the other end (``Connection/namePeer(_:)``), or nil.
    public let sender: BusName?
    /// The called object.
    public let path: ObjectPath
    /// Size of the values in the arguments, in bytes.
    public let argumentBytes: Int
    /// The call's number among the connection's unanswered calls.
    let number: UInt64

    /// Cancels the task that runs the method, unless it has answered. Call this on the event loop.
    ///
    /// If the method is waiting for calls of its own, they fail with ``CallError/cancelled``. The method still answers.
    public func cancelTask() {
        connection.assumeIsolated { $0.server.calls.cancel(number) }
    }
}

/// An interface together with the code of its members, used for both dispatch and introspection.
public struct ExportedInterface: Sendable {
    /// The interface's name.
    public let name: InterfaceName
    let methods: [MemberName: ExportedMethod]
    let properties: [MemberName: ExportedProperty]
    let signals: [ExportedSignal]

    /// Creates an interface from its members.
    ///
    /// - Parameters:
    ///   - name: The interface's name.
    ///   - members: The members, each once. If one belongs to another interface, this is a programming error, and the
    ///     process stops.
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

    private init(_ interface: ExportedInterface, methods: [MemberName: ExportedMethod]) {
        name = interface.name
        self.methods = methods
        properties = interface.properties
        signals = interface.signals
    }

    /// Returns the interface with a check before methods.
    ///
    /// - Parameter check: Returns the check for a method with this name; nil for a method that needs none. If the check
    ///   throws, the method does not run, and the error is the answer.
    public func checked(
        by check: (MemberName) -> (@Sendable (IncomingCall) async throws -> Void)?
    ) -> ExportedInterface {
        ExportedInterface(
            self,
            methods: methods.mapValues { method in
                guard let check = check(method.name) else { return method }
                return ExportedMethod(
                    name: method.name,
                    inputs: method.inputs,
                    outputs: method.outputs,
                    inputSignature: method.inputSignature
                ) { (reader) throws(MessageDecodingError) -> ExportedMethod.Body in
                    switch try method.begin(&reader) {
                    case .task(let body):
                        return .task { call in
                            try await check(call)
                            return try await body(call)
                        }
                    case .immediate(let body):
                        return .task { call in
                            try await check(call)
                            typealias Waiting = CheckedContinuation<any MessageBody, any Error>
                            return try await withCheckedThrowingContinuation { (continuation: Waiting) in
                                // The method may answer again, on any thread, which does nothing.
                                let waiting = Lock<Waiting?>(continuation)
                                body(call) { result in waiting.withLock { $0.take() }?.resume(with: result) }
                            }
                        }
                    }
                }
            }
        )
    }

    /// One member of an interface and its code.
    public struct Member: Sendable {
        enum Content: Sendable {
            case method(ExportedMethod)
            case property(ExportedProperty)
            case signal(ExportedSignal)
        }

        let interface: InterfaceName
        let content: Content

        /// A method. `body` runs on the connection's event loop, in a new task.
        ///
        /// Calls start in the order in which they arrive, and one that waits does not delay the others. If `body`
        /// throws, the error is the answer.
        public static func method<Input: MessageBody, Output: MessageBody>(
            _ method: Method<Input, Output>,
            _ body: @escaping @Sendable (IncomingCall, Input) async throws -> Output
        ) -> Member {
            member(method) { input in .task { call in try await body(call, input) } }
        }

        /// A method whose answer may come later, and which has no task. `body` runs on the connection's event loop.
        ///
        /// Use this for a method that is called often, because a method with a task takes several times as long. Calls
        /// of both forms start in the order in which they arrive. `body` must not block. It may call `answer` on any
        /// thread, once; further calls do nothing. If it never calls `answer`, the caller waits until its own time
        /// limit.
        public static func method<Input: MessageBody, Output: MessageBody>(
            answering method: Method<Input, Output>,
            _ body: @escaping @Sendable (IncomingCall, Input, _ answer: @escaping Answer<Output>) -> Void
        ) -> Member {
            member(method) { input in
                .immediate { call, send in
                    body(call, input) { result in send(result.map { $0 as any MessageBody }) }
                }
            }
        }

        /// A function that takes the answer to a call, or the error that is the answer.
        public typealias Answer<Output> = @Sendable (Result<Output, any Error>) -> Void

        private static func member<Input: MessageBody, Output: MessageBody>(
            _ method: Method<Input, Output>,
            _ body: @escaping @Sendable (Input) -> ExportedMethod.Body
        ) -> Member {
            let exported = ExportedMethod(
                name: method.name,
                inputs: Self.named(method.inputs, Input.signature),
                outputs: Self.named(method.outputs, Output.signature),
                inputSignature: Input.signature
            ) { (reader) throws(MessageDecodingError) -> ExportedMethod.Body in
                body(try Input(from: &reader))
            }
            return Member(interface: method.interface, content: .method(exported))
        }

        /// A property that other programs may read, and may set if there is a `set` closure. Both closures run on the
        /// connection's event loop.
        ///
        /// - Parameters:
        ///   - property: The property's description.
        ///   - change: How changes are announced, according to the introspection; see
        ///     ``Connection/emitChange(of:at:)``.
        ///   - set: Takes a new value. If it throws, the error is the answer. To inform other programs, it should use
        ///     ``Connection/emitChange(of:at:)``.
        ///   - content: Returns the value each time the property is read.
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
            // Names only help people who read the introspection, so a description may leave them out.
            let names = names.isEmpty ? types.indices.map { "arg\($0)" } : names
            precondition(names.count == types.count, "\(types.count) arguments are described with \(names.count) names")
            return zip(names, types).map { Argument(name: $0, type: $1) }
        }
    }
}

/// The way in which changes to a property are announced.
///
/// Each raw value is the value of the annotation `org.freedesktop.DBus.Property.EmitsChangedSignal` in the D-Bus
/// specification.
public enum PropertyChange: String, Sendable, Hashable {
    /// Changes are not announced.
    case never = "false"
    /// `PropertiesChanged` carries the new value.
    case value = "true"
    /// `PropertiesChanged` carries only the property's name. Subscribers read the new value themselves.
    case invalidation = "invalidates"
    /// The value stays the same as long as the object exists.
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
    /// Reads a call's arguments. This happens before the method starts, because the message no longer exists when the
    /// method runs.
    let begin: @Sendable (inout MessageReader) throws(MessageDecodingError) -> Body

    /// The method together with its arguments.
    enum Body: Sendable {
        /// Runs in a separate task, whose result is the answer.
        case task(@Sendable (IncomingCall) async throws -> any MessageBody)
        /// Runs at once, and passes the answer to the function, from any thread.
        case immediate(@Sendable (IncomingCall, @escaping Answer) -> Void)

        typealias Answer = @Sendable (Result<any MessageBody, any Error>) -> Void
    }
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
