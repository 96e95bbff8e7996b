/// The conditions for receiving a signal ("Match Rules", D-Bus specification). A signal must meet all of them.
///
/// The interface and the member come from the ``Signal`` that you use the rule with.
public struct MatchRule: Sendable, Hashable {
    /// The sender. A well-known name stands for its current owner.
    ///
    /// On a connection without a bus, this is ignored, unless this program has named the other end
    /// (``Connection/namePeer(_:)``), which is then the only sender.
    public var sender: BusName?
    /// The object that emits the signal.
    public var path: ObjectPath?
    /// The object that emits the signal, or an ancestor of that object.
    public var pathNamespace: ObjectPath?
    /// Arguments of type string by their position, from 0 to 63. They are compared byte by byte, as on the bus.
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

    /// Returns the rule in the bus's notation. A bus refuses rules of more than 1024 bytes.
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

    /// Escapes a string for use between apostrophes. At each apostrophe, the quotation ends, an escaped apostrophe
    /// follows, and a new quotation begins.
    private static func quoted(_ text: String) -> String {
        // Scan Unicode scalars: an apostrophe with an accent is a different character in Swift, but still an apostrophe
        // to the bus.
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
