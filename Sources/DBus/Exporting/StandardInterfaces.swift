/// A property's value as the variant that `org.freedesktop.DBus.Properties` carries.
struct PropertyValue: DBusType {
    static var signature: Signature { Signature(trusted: "v") }

    private let writeVariant: @Sendable (inout MessageWriter) throws(MessageEncodingError) -> Void

    init<Content: DBusType>(_ content: Content) {
        writeVariant = { (writer) throws(MessageEncodingError) in
            try writer.appendVariant(of: Content.signature) { (writer) throws(MessageEncodingError) in
                try content.write(to: &writer)
            }
        }
    }

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let value = try reader.readVariant()
        writeVariant = { (writer) throws(MessageEncodingError) in try writer.appendVariant(value) }
    }

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writeVariant(&writer)
    }
}

/// A variant that must hold a value of the type `Content`.
struct VariantContent<Content: DBusType>: DBusType {
    static var signature: Signature { "v" }

    let content: Content

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        var content: Content?
        try reader.readVariant(of: Content.signature) { (reader) throws(MessageDecodingError) in
            content = try Content(from: &reader)
        }
        guard let content else { throw .invalidValue("an empty variant") }
        self.content = content
    }

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendVariant(of: Content.signature) { (writer) throws(MessageEncodingError) in
            try content.write(to: &writer)
        }
    }
}

/// The interfaces that every object has. Their answers come from the descriptions of the object's own interfaces.
enum StandardInterfaces {
    static let introspectable: InterfaceName = "org.freedesktop.DBus.Introspectable"
    static let properties: InterfaceName = "org.freedesktop.DBus.Properties"

    static let introspect = Method<Empty, String>(introspectable, "Introspect", outputs: ["xml_data"])
    static let get = Method<Arguments<String, String>, PropertyValue>(
        properties,
        "Get",
        inputs: ["interface_name", "property_name"],
        outputs: ["value"]
    )
    static func getProperty<Content>(_: Content.Type) -> Method<Arguments<String, String>, VariantContent<Content>> {
        Method(properties, "Get", inputs: ["interface_name", "property_name"], outputs: ["value"])
    }
    static let getAll = Method<String, [String: PropertyValue]>(
        properties,
        "GetAll",
        inputs: ["interface_name"],
        outputs: ["properties"]
    )
    static let set = Method<Arguments<String, String, Value>, Empty>(
        properties,
        "Set",
        inputs: ["interface_name", "property_name", "value"]
    )

    static let setProperty = Method<Arguments<String, String, PropertyValue>, Empty>(properties, "Set")
    static let getAllProperties = Method<String, [String: Value]>(properties, "GetAll")

    static let propertiesChanged = Signal<Arguments<String, [String: PropertyValue], [String]>>(
        properties,
        "PropertiesChanged",
        arguments: ["interface_name", "changed_properties", "invalidated_properties"]
    )

    /// Returns the interface with `Introspect` for an object.
    static func introspectable(xml: @escaping @Sendable () -> String) -> ExportedInterface {
        ExportedInterface(introspectable, [.method(introspect) { _, _ in xml() }])
    }

    /// Returns the interface with `Get`, `GetAll` and `Set` for an object with these interfaces.
    ///
    /// A call may leave out the interface. If several properties have the same name, it gets the one from the interface
    /// that was exported first.
    static func properties(of interfaces: [ExportedInterface]) -> ExportedInterface {
        @Sendable func named(_ name: String) throws -> [ExportedInterface] {
            if name.isEmpty { return interfaces }
            let found = InterfaceName(name).map { name in interfaces.filter { $0.name == name } } ?? []
            if found.isEmpty { throw RemoteError(.unknownInterface, "there is no interface \(name) here") }
            return found
        }
        @Sendable func property(_ interfaceName: String, _ name: String) throws -> ExportedProperty {
            let interfaces = try named(interfaceName)
            let found = MemberName(name).flatMap { name in interfaces.lazy.compactMap { $0.properties[name] }.first }
            guard let property = found else {
                throw RemoteError(.unknownProperty, "there is no property \(name) here")
            }
            return property
        }
        return ExportedInterface(
            properties,
            [
                .method(get) { _, input in try property(input.values.0, input.values.1).read() },
                .method(getAll) { _, name in
                    var values: [String: PropertyValue] = [:]
                    for interface in try named(name) {
                        for (name, property) in interface.properties where values[name.rawValue] == nil {
                            values[name.rawValue] = property.read()
                        }
                    }
                    return values
                },
                .method(set) { _, input in
                    let (interfaceName, name, value) = input.values
                    guard let write = try property(interfaceName, name).write else {
                        throw RemoteError(.propertyReadOnly, "\(name) cannot be set")
                    }
                    try write(value)
                    return Empty()
                },
                .signal(propertiesChanged),
            ]
        )
    }
}
