/// The name of another host, or `@` and the name of a group of hosts: 1 to 64 letters, digits, dots, hyphens and underscores,
/// beginning with a letter or a digit. Case does not matter, so the name is kept in lower case.
///
/// A name is the user's own word for the host. It need not be a name in the network.
public struct HostName: RawRepresentable, Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The name in lower case.
    public let rawValue: String

    /// Creates a name; nil if the text breaks the rule.
    public init?(rawValue: String) {
        let name = rawValue.utf8.first == UInt8(ascii: "@") ? rawValue.utf8.dropFirst() : rawValue.utf8[...]
        guard (1...64).contains(name.count), let first = name.first, first.isPathByte, first != UInt8(ascii: "_"),
            name.allSatisfy({ $0.isPathByte || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") })
        else { return nil }
        self.rawValue = rawValue.lowercased()
    }

    /// Whether the name stands for a group, any one of whose hosts opens the URL.
    public var isGroup: Bool { rawValue.utf8.first == UInt8(ascii: "@") }

    /// The name in lower case.
    public var description: String { rawValue }

    /// Compares names as text.
    public static func < (a: HostName, b: HostName) -> Bool { a.rawValue < b.rawValue }
}

extension HostName: Word {
    package static func problem(with word: String) -> String {
        "a host's name has 1 to 64 letters, digits, dots, hyphens and underscores, and begins with a letter or a digit"
    }
}
