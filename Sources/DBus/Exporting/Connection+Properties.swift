/// `org.freedesktop.DBus.Properties`, as others implement it; this module answers it for what it exports.
public enum PropertiesInterface {
    /// The interface's name.
    public static let name = StandardInterfaces.properties

    /// Tells of an interface whose properties changed, what some hold now, and which others are to be read anew.
    ///
    /// A ``MatchRule`` with the interface's name as argument 0 asks for the changes of one interface alone.
    public static let changed = Signal<Arguments<String, [String: Value], [String]>>(
        name,
        "PropertiesChanged",
        arguments: ["interface_name", "changed_properties", "invalidated_properties"]
    )
}

extension Connection {
    /// Reads a property.
    ///
    /// - Throws: ``CallError``; a property of another type is ``CallError/unexpectedReply(_:)``.
    public func get<Content: DBusType>(
        _ property: Property<Content>,
        on object: RemoteObject,
        timeout: Duration? = .seconds(25)
    ) async throws(CallError) -> Content {
        let input = Arguments(property.interface.rawValue, property.name.rawValue)
        let answer = try await call(StandardInterfaces.getProperty(Content.self), on: object, input, timeout: timeout)
        return answer.content
    }

    /// Reads all properties of one interface.
    public func getAll(
        _ interface: InterfaceName,
        on object: RemoteObject,
        timeout: Duration? = .seconds(25)
    ) async throws(CallError) -> [String: Value] {
        try await call(StandardInterfaces.getAllProperties, on: object, interface.rawValue, timeout: timeout)
    }

    /// Gives a property a new value.
    public func set<Content: DBusType>(
        _ property: Property<Content>,
        on object: RemoteObject,
        to content: Content,
        timeout: Duration? = .seconds(25)
    ) async throws(CallError) {
        let input = Arguments(property.interface.rawValue, property.name.rawValue, PropertyValue(content))
        try await call(StandardInterfaces.setProperty, on: object, input, timeout: timeout)
    }

    /// Tells everyone who subscribed to ``PropertiesInterface/changed`` that a property of an exported object has changed:
    /// what it holds now, or for ``PropertyChange/invalidation`` its name alone.
    ///
    /// A property that the object does not export is nobody's to know, and nothing is sent.
    ///
    /// - Throws: ``CallError/notSent(_:)`` or ``CallError/disconnected``.
    public func emitChange<Content: DBusType>(of property: Property<Content>, at path: ObjectPath) throws(CallError) {
        guard let exported = objects.property(path, property.interface, property.name) else { return }
        let name = property.name.rawValue
        let isInvalidated = exported.change == .invalidation
        let body = Arguments(
            property.interface.rawValue,
            isInvalidated ? [:] : [name: exported.read()],
            isInvalidated ? [name] : []
        )
        try emit(StandardInterfaces.propertiesChanged, from: path, body)
    }
}
