/// Other programs' `org.freedesktop.DBus.Properties`. This module answers the same interface for exported objects.
public enum PropertiesInterface {
    /// The interface's name.
    public static let name = StandardInterfaces.properties

    /// Returns the value of a property of any type, given the names of its interface and of the property.
    package static let get = Method<Arguments<String, String>, Value>(name, "Get")

    /// The signal that an interface's properties have changed. It carries the interface's name, the new values of some
    /// properties, and the names of the properties that have to be read again.
    ///
    /// To receive the changes of only one interface, use a ``MatchRule`` with its name as argument 0.
    public static let changed = Signal<Arguments<String, [String: Value], [String]>>(
        name,
        "PropertiesChanged",
        arguments: ["interface_name", "changed_properties", "invalidated_properties"]
    )
}

extension Connection {
    /// Reads a property.
    ///
    /// - Throws: ``CallError``, which is ``CallError/unexpectedReply(_:)`` if the property has another type.
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

    /// Sets a property to a new value.
    public func set<Content: DBusType>(
        _ property: Property<Content>,
        on object: RemoteObject,
        to content: Content,
        timeout: Duration? = .seconds(25)
    ) async throws(CallError) {
        let input = Arguments(property.interface.rawValue, property.name.rawValue, PropertyValue(content))
        try await call(StandardInterfaces.setProperty, on: object, input, timeout: timeout)
    }

    /// Announces a change to an exported object's property to all subscribers of ``PropertiesInterface/changed``.
    ///
    /// The signal carries the current value, or only the property's name for ``PropertyChange/invalidation``. If the
    /// object does not export the property, nothing is sent.
    ///
    /// - Throws: ``CallError/notSent(_:)`` or ``CallError/disconnected``.
    public func emitChange<Content: DBusType>(of property: Property<Content>, at path: ObjectPath) throws(CallError) {
        guard let exported = server.objects.property(path, property.interface, property.name) else { return }
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
