/// The XML that describes an object ("Introspection Data Format", D-Bus specification).
enum Introspection {
    private static let header = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">

        """

    /// The interface that every connection answers by itself.
    private static let peer = """
          <interface name="org.freedesktop.DBus.Peer">
            <method name="GetMachineId">
              <arg name="machine_uuid" type="s" direction="out"/>
            </method>
            <method name="Ping"/>
          </interface>

        """

    // Nothing needs escaping: members' names and signatures contain no characters with a meaning in XML.
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
            let types = QtType.annotations(method.inputs, "In") + QtType.annotations(method.outputs, "Out")
            xml += element("method", method.name, arguments + types)
        }
        for signal in interface.signals {
            let types = QtType.annotations(signal.arguments, "In") + QtType.annotations(signal.arguments, "Out")
            xml += element("signal", signal.name, lines(signal.arguments, direction: nil) + types)
        }
        for property in interface.properties.values.sorted(by: { $0.name.rawValue < $1.name.rawValue }) {
            let access = property.write == nil ? "read" : "readwrite"
            xml += "    <property name=\"\(property.name)\" type=\"\(property.signature)\" access=\"\(access)\""
            var annotations = QtType.annotation(property.signature, "")
            if property.change != .value { annotations.append(annotation(property.change)) }
            xml += annotations.isEmpty ? "/>\n" : ">\n\(annotations.joined())    </property>\n"
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
        return arguments.map { "      <arg name=\"\(escaped($0.name))\" type=\"\($0.type)\"\(suffix)/>\n" }
    }
}

/// The C++ types that Qt's code generator uses for D-Bus types.
///
/// It refuses a whole interface if one of its types is a dictionary or an array of arrays without the annotation
/// `org.qtproject.QtDBus.QtTypeName` (Qt D-Bus manual, "Qt D-Bus XML compiler").
private enum QtType {
    static func annotations(_ arguments: [Argument], _ direction: String) -> [String] {
        arguments.enumerated().flatMap { position, argument in
            annotation(argument.type, ".\(direction)\(position)")
        }
    }

    /// Returns the annotation for a type that needs one; nothing for any other type.
    static func annotation(_ signature: Signature, _ suffix: String) -> [String] {
        var rest = Substring(signature.rawValue)
        let codes = signature.rawValue.utf8
        let isNested = zip(codes, codes.dropFirst()).contains { $0 == UInt8(ascii: "a") && $1 == UInt8(ascii: "a") }
        guard isNested || codes.contains(where: "{(".utf8.contains), let type = popType(&rest), rest.isEmpty
        else { return [] }
        let name = "org.qtproject.QtDBus.QtTypeName"
        return ["      <annotation name=\"\(name)\(suffix)\" value=\"\(escaped(type))\"/>\n"]
    }

    private static let basicTypes: [Character: String] = [
        "y": "uchar", "b": "bool", "n": "short", "q": "ushort", "i": "int", "u": "uint", "x": "qlonglong",
        "t": "qulonglong",
        "d": "double", "s": "QString", "o": "QDBusObjectPath", "g": "QDBusSignature", "h": "QDBusUnixFileDescriptor",
        "v": "QDBusVariant",
    ]
    /// Arrays that have their own C++ type.
    private static let arrays = ["a{sv}": "QVariantMap", "as": "QStringList", "ay": "QByteArray", "av": "QVariantList"]

    /// Removes the first complete type from a signature, and returns its C++ type.
    ///
    /// Qt has no type for a structure. A program that uses the generated code declares one itself, called
    /// `DBusStructure_stb` for `(stb)`.
    private static func popType(_ signature: inout Substring) -> String? {
        for (array, type) in arrays where signature.hasPrefix(array) {
            signature.removeFirst(array.count)
            return type
        }
        guard let code = signature.popFirst() else { return nil }
        if code == "(" {
            var name = "DBusStructure_"
            while signature.first != ")" {
                let start = signature
                guard popType(&signature) != nil else { return nil }
                name += start.dropLast(signature.count).filter(\.isLetter)
            }
            signature.removeFirst()
            return name
        }
        guard code == "a" else { return basicTypes[code] }
        guard signature.first == "{" else { return popType(&signature).map { "QList<\($0)>" } }
        signature.removeFirst()
        guard let key = popType(&signature), let value = popType(&signature), signature.popFirst() == "}" else {
            return nil
        }
        return "QMap<\(key),\(value)>"
    }
}

/// Escapes a string for use as an attribute's value (XML 1.0, section 2.4).
private func escaped(_ text: String) -> String {
    let entities: [Character: String] = ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"]
    return text.reduce(into: "") { $0 += entities[$1] ?? String($1) }
}
