/// The conditions for the signals to receive ("Match Rules", D-Bus specification). A signal must meet all given
/// conditions.
///
/// The interface and the member come from the ``Signal`` with which the rule is used.
public struct MatchRule: Sendable, Hashable {
    /// The sender. A well-known name stands for its current owner.
    ///
    /// On a connection without a bus, messages have no senders, and this condition is ignored.
    public var sender: BusName?
    /// The object that emits the signal.
    public var path: ObjectPath?
    /// The object that emits the signal, or an ancestor of that object.
    public var pathNamespace: ObjectPath?
    /// The arguments of type string by their position, from 0 to 63. Arguments are compared by their bytes, like on the
    /// bus.
    public var arguments: [Int: String]

    /// Creates a rule.
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

    /// Returns the rule in the bus's notation. The bus refuses a rule of more than 1024 bytes.
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

    /// Escapes a text for use between apostrophes. An apostrophe in the text ends the quotation, follows escaped, and
    /// begins a new quotation.
    private static func quoted(_ text: String) -> String {
        // The text is scanned by Unicode scalars. For Swift, an apostrophe with an accent is another character, but for
        // the bus it is an apostrophe.
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
