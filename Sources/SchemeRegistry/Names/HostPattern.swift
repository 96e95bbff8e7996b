internal import UserFiles

/// A pattern for the hosts whose URLs a handler accepts: one host, or every host below a host, written with `*.`.
///
/// The pattern `*.acme.com` matches whole labels: `www.acme.com` and `a.b.acme.com`, but neither `acme.com` nor
/// `evilacme.com`. The comparison ignores case. A host is a registered name or an IPv4 address as written in the URL:
/// nothing is decoded, and a trailing dot is not removed.
public struct HostPattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern in lower case, including `*.`.
    public let rawValue: String

    /// The maximum length of a pattern in bytes, which is the maximum length of a name in RFC 1035 section 2.3.4.
    public static let maximumLength = 253

    /// The error of a text that is not a host pattern.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text is empty.
        case empty
        /// The text has more than ``HostPattern/maximumLength`` bytes.
        case tooLong(Int)
        /// The text has an empty label: two dots in a row, or a dot at the beginning or at the end.
        case emptyLabel
        /// The text contains a `*` that is not the whole first label.
        case misplacedWildcard
        /// The text contains a character that no host contains.
        case forbiddenCharacter(Unicode.Scalar)

        /// The error as text that follows the name of the key.
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

    /// Checks a text and stores it in lower case.
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

    /// A host that the pattern matches.
    var example: String { rawValue.hasPrefix("*") ? "any" + rawValue.dropFirst() : rawValue }

    private init(lowercased: String) {
        rawValue = lowercased
    }

    /// Returns whether the pattern matches a host. The comparison ignores case.
    public func matches(_ host: String) -> Bool {
        Self.matching(host).contains(self)
    }

    /// Returns every pattern that matches a host, in order of decreasing length: the host itself, then `*.` with each
    /// of its suffixes.
    ///
    /// No pattern is longer than ``maximumLength``, which bounds the work for a very long host. A host with non-ASCII
    /// characters has no patterns: case folding would change a Kelvin sign to a `k`.
    static func matching(_ host: String) -> [HostPattern] {
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else { return [] }
        let host = host.lowercased()
        var patterns: [HostPattern] = []
        if !host.isEmpty, host.utf8.count <= maximumLength { patterns.append(HostPattern(lowercased: host)) }
        let start = host.utf8.index(host.endIndex, offsetBy: 1 - maximumLength, limitedBy: host.startIndex)
        var rest = host.utf8[(start ?? host.startIndex)...]
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            // The first label must not be empty: `.acme.com` is not below any host.
            if dot > host.startIndex { patterns.append(HostPattern(lowercased: "*" + host[dot...])) }
            rest = rest[rest.index(after: dot)...]
        }
        return patterns
    }

    /// The other patterns that match everything that this pattern matches.
    var wider: [HostPattern] {
        let isWildcard = rawValue.hasPrefix("*")
        return Array(Self.matching(isWildcard ? String(rawValue.dropFirst(2)) : rawValue).dropFirst())
    }

    /// The text itself.
    public var description: String { rawValue }
}
