/// Which signals to receive ("Match Rules", D-Bus specification): all that agree with everything that is given.
///
/// The interface and the member come from the ``Signal`` that the rule is used with.
public struct MatchRule: Sendable, Hashable {
    /// Who sends it; a well-known name means its owner at the time. On a connection without a bus there are no senders, and
    /// it is ignored.
    public var sender: BusName?
    /// The object that emits it.
    public var path: ObjectPath?
    /// The object that emits it, or one above it.
    public var pathNamespace: ObjectPath?
    /// Arguments of type string by their position, 0 to 63; compared by their bytes, as the bus does.
    public var arguments: [Int: String]

    /// Makes a rule.
    public init(
        sender: BusName? = nil,
        path: ObjectPath? = nil,
        pathNamespace: ObjectPath? = nil,
        arguments: [Int: String] = [:]
    ) {
        self.sender = sender
        self.path = path
        self.pathNamespace = pathNamespace
        self.arguments = arguments
    }

    /// The rule in the bus's notation; the bus refuses one of more than 1024 bytes.
    func text(_ interface: InterfaceName, _ member: MemberName) -> String {
        var text = "type='signal',interface='\(interface)',member='\(member)'"
        if let sender { text += ",sender='\(sender)'" }
        if let path { text += ",path='\(path)'" }
        if let pathNamespace { text += ",path_namespace='\(pathNamespace)'" }
        for (position, argument) in arguments.sorted(by: { $0.key < $1.key }) {
            text += ",arg\(position)='\(Self.quoted(argument))'"
        }
        return text
    }

    /// Within quotes everything stands for itself; an apostrophe ends them, stands escaped, and they begin anew.
    private static func quoted(_ text: String) -> String {
        // By scalars: to Swift an apostrophe with an accent is another character, to the bus it is an apostrophe.
        var quoted = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "'" { quoted.append(contentsOf: "'\\''".unicodeScalars) } else { quoted.append(scalar) }
        }
        return String(quoted)
    }

    func matches(path: ObjectPath) -> Bool {
        if let expected = self.path, expected != path { return false }
        guard let namespace = pathNamespace, namespace.rawValue != "/" else { return true }
        return path == namespace || path.rawValue.hasPrefix(namespace.rawValue + "/")
    }
}
