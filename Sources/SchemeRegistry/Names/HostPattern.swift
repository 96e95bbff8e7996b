internal import UserFiles

/// A pattern for the hosts whose URLs a handler accepts: one host or, written with `*.`, every host below one.
///
/// It matches whole labels: `*.acme.com` matches `www.acme.com` and `a.b.acme.com`, but neither `acme.com` nor
/// `evilacme.com`. Case does not matter. A host is a registered name or an IPv4 address as written in the URL: nothing
/// is decoded, and a trailing dot is kept.
public struct HostPattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern in lower case, including `*.`.
    public let rawValue: String

    /// Maximum length of a pattern in bytes, which is the limit for a name in RFC 1035 section 2.3.4.
    public static let maximumLength = 253

    /// Thrown for a string that is not a host pattern.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text is empty.
        case empty
        /// The text is longer than ``HostPattern/maximumLength``.
        case tooLong(Int)
        /// There is an empty label: two dots in a row, or a dot at the beginning or at the end.
        case emptyLabel
        /// A `*` in the text is not the whole first label.
        case misplacedWildcard
        /// The text contains a character that cannot be part of a host.
        case forbiddenCharacter(Unicode.Scalar)

        /// The error, worded to follow the key's name.
        public var description: String {
            switch self {
            case .empty: "is empty"
            case .tooLong(let length): "has \(length) bytes; a host may have at most \(maximumLength)"
            case .emptyLabel: "has an empty label"
            case .misplacedWildcard: "has a '*' that is not the whole first label of a longer name, as in *.acme.com"
            case .forbiddenCharacter(let scalar):
                "contains \(printable(scalar)); a host is made of letters, digits, '-', '_' and '.'"
            }
        }
    }

    /// Checks a string and stores it in lower case.
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
    package var example: String { rawValue.hasPrefix("*") ? "any" + rawValue.dropFirst() : rawValue }

    private init(lowercased: String) {
        rawValue = lowercased
    }

    /// Returns whether the pattern matches a host, ignoring case.
    public func matches(_ host: String) -> Bool {
        Self.matching(host).contains(self)
    }

    /// Returns every pattern that matches a host, the longest first: the host itself, then `*.` with each of its
    /// suffixes.
    ///
    /// Because no pattern is longer than ``maximumLength``, a very long host causes no extra work. A host with
    /// non-ASCII characters has no patterns: case folding would change a Kelvin sign to a `k`.
    static func matching(_ host: String) -> [HostPattern] {
        guard host.utf8.allSatisfy({ $0 < 0x80 }) else { return [] }
        let host = host.lowercased()
        var patterns: [HostPattern] = []
        if !host.isEmpty, host.utf8.count <= maximumLength { patterns.append(HostPattern(lowercased: host)) }
        let start = host.utf8.index(host.endIndex, offsetBy: 1 - maximumLength, limitedBy: host.startIndex)
        var rest = host.utf8[(start ?? host.startIndex)...]
        while let dot = rest.firstIndex(of: UInt8(ascii: ".")) {
            // The first label must not be empty, because `.acme.com` is not below any host.
            if dot > host.startIndex { patterns.append(HostPattern(lowercased: "*" + host[dot...])) }
            rest = rest[rest.index(after: dot)...]
        }
        return patterns
    }

    /// All other patterns that match everything this one matches.
    var wider: [HostPattern] {
        let isWildcard = rawValue.hasPrefix("*")
        return Array(Self.matching(isWildcard ? String(rawValue.dropFirst(2)) : rawValue).dropFirst())
    }

    /// The text itself.
    public var description: String { rawValue }
}
