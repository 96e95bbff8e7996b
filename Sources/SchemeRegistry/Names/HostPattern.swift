internal import UserFiles

/// The hosts whose URLs a handler takes: one host, or with `*.` before it every host below one.
///
/// `*.acme.com` matches whole labels: `www.acme.com` and `a.b.acme.com`, neither `acme.com` nor `evilacme.com`. Hosts
/// are compared without case. A host is a registered name or an IPv4 address, as it is written in a URL: nothing is
/// decoded and no trailing dot is dropped.
public struct HostPattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern in lower case, with its `*.` if it has one.
    public let rawValue: String

    /// The longest pattern, in bytes: the longest name of RFC 1035 section 2.3.4.
    public static let maximumLength = 253

    /// What is wrong with a text that is no host pattern.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// No host.
        case empty
        /// More bytes than ``HostPattern/maximumLength``.
        case tooLong(Int)
        /// Two dots in a row, or one at either end.
        case emptyLabel
        /// A `*` that is not the whole first label.
        case misplacedWildcard
        /// A character that no host has.
        case forbiddenCharacter(Unicode.Scalar)

        /// The mistake as a message says it after the name of the key.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .tooLong(let length): "has \(length) bytes; a host has at most \(maximumLength)"
            case .emptyLabel: "has an empty label"
            case .misplacedWildcard: "has a '*' that is not the whole first label of a longer name, as in *.acme.com"
            case .forbiddenCharacter(let scalar):
                "holds \(printable(scalar)); a host is made of letters, digits, '-', '_' and '.'"
            }
        }
    }

    /// Checks a text and keeps it in lower case.
    public init(_ text: String) throws(ParseError) {
        let host = text.hasPrefix("*.") ? text.dropFirst(2) : text[...]
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong(text.utf8.count) }
        for scalar in host.unicodeScalars where !(isNameScalar(scalar) || scalar == ".") {
            throw scalar == "*" ? .misplacedWildcard : .forbiddenCharacter(scalar)
        }
        guard host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }) else {
            throw .emptyLabel
        }
        rawValue = text.lowercased()
    }

    private init(lowercased: String) {
        rawValue = lowercased
    }

    /// Whether a URL with this host, in any case, is one of the pattern's.
    public func matches(_ host: String) -> Bool {
        Self.matching(host).contains(self)
    }

    /// Every pattern that matches a host, the longest first: the host itself, then `*.` before each of its suffixes.
    ///
    /// None is longer than ``maximumLength``, which bounds the work for a host of any length. A host that is not ASCII
    /// has none: case folding would turn a Kelvin sign into a `k`.
    static func matching(_ host: String) -> [HostPattern] {
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else { return [] }
        let host = host.lowercased()
        var patterns: [HostPattern] = []
        if !host.isEmpty, host.utf8.count <= maximumLength { patterns.append(HostPattern(lowercased: host)) }
        let start = host.utf8.index(host.endIndex, offsetBy: 1 - maximumLength, limitedBy: host.startIndex)
        var rest = host.utf8[(start ?? host.startIndex)...]
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            // The first label must exist: `.acme.com` is below nothing.
            if dot > host.startIndex { patterns.append(HostPattern(lowercased: "*" + host[dot...])) }
            rest = rest[rest.index(after: dot)...]
        }
        return patterns
    }

    /// The other patterns that match all that this one matches.
    var wider: [HostPattern] {
        let isWildcard = rawValue.hasPrefix("*")
        return Array(Self.matching(isWildcard ? String(rawValue.dropFirst(2)) : rawValue).dropFirst())
    }

    /// The text itself.
    public var description: String { rawValue }
}
