/// The XML that describes an object ("Introspection Data Format", D-Bus specification).
enum Introspection {
    private static let header = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">

        """

    /// The interface that libdbus answers by itself.
    private static let peer = """
          <interface name="org.freedesktop.DBus.Peer">
            <method name="GetMachineId">
              <arg name="machine_uuid" type="s" direction="out"/>
            </method>
            <method name="Ping"/>
          </interface>

        """

    // Names of members and signatures contain no character that has a meaning in XML, and the names of arguments come
    // from the program's source. Nothing is therefore escaped.
    static func xml(_ interfaces: some Sequence<ExportedInterface>, children: [String]) -> String {
        var xml = header + "<node>\n"
        let sorted = interfaces.sorted { $0.name.rawValue < $1.name.rawValue }
        for interface in sorted { xml += describe(interface) }
        if !sorted.isEmpty { xml += peer }
        for child in children { xml += "  <node name=\"\(child)\"/>\n" }
        return xml + "</node>\n"
    }

    private static func describe(_ interface: ExportedInterface) -> String {
        var xml = "  <interface name=\"\(interface.name)\">\n"
        for method in interface.methods.values.sorted(by: { $0.name.rawValue < $1.name.rawValue }) {
            let arguments = lines(method.inputs, direction: "in") + lines(method.outputs, direction: "out")
            xml += element("method", method.name, arguments)
        }
        for signal in interface.signals {
            xml += element("signal", signal.name, lines(signal.arguments, direction: nil))
        }
        for property in interface.properties.values.sorted(by: { $0.name.rawValue < $1.name.rawValue }) {
            let access = property.write == nil ? "read" : "readwrite"
            xml += "    <property name=\"\(property.name)\" type=\"\(property.signature)\" access=\"\(access)\""
            xml += property.change == .value ? "/>\n" : ">\n\(annotation(property.change))    </property>\n"
        }
        return xml + "  </interface>\n"
    }

    /// Returns the annotation for a property whose changes are not announced with their values. Without an annotation,
    /// D-Bus assumes that they are.
    private static func annotation(_ change: PropertyChange) -> String {
        let name = "org.freedesktop.DBus.Property.EmitsChangedSignal"
        return "      <annotation name=\"\(name)\" value=\"\(change.rawValue)\"/>\n"
    }

    private static func element(_ kind: String, _ name: MemberName, _ arguments: [String]) -> String {
        arguments.isEmpty
            ? "    <\(kind) name=\"\(name)\"/>\n"
            : "    <\(kind) name=\"\(name)\">\n\(arguments.joined())    </\(kind)>\n"
    }

    private static func lines(_ arguments: [Argument], direction: String?) -> [String] {
        let suffix = direction.map { " direction=\"\($0)\"" } ?? ""
        return arguments.map { "      <arg name=\"\($0.name)\" type=\"\($0.type)\"\(suffix)/>\n" }
    }
}
