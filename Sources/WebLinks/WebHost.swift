internal import UserFiles

/// The host of links to web pages that an app may get: a name with at least two labels, in lower case.
///
/// It is stricter than a host in a URL, because programs have to agree on it: no address, no trailing dot, no escape, no
/// underscore, and nothing below `localhost`. An international name is written in its ASCII form (`xn--…`).
public struct WebHost: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The host in lower case.
    public let rawValue: String

    /// Maximum length of a host in bytes, the limit for a name in RFC 1035 section 2.3.4.
    public static let maximumLength = 253
    /// Maximum length of a label in bytes, the limit in RFC 1035 section 2.3.4.
    private static let maximumLabel = 63

    /// Thrown for a string that is not such a host.
    public enum ParseError: Error, Hashable, CustomStringConvertible {
        /// The text is longer than ``WebHost/maximumLength``, or a label is too long.
        case tooLong
        /// A label is empty, or begins or ends with a hyphen.
        case badLabel
        /// The text contains a character other than a letter, a digit, `-` and `.`.
        case forbiddenCharacter(Unicode.Scalar)
        /// The text has a single label.
        case noDot
        /// The last label does not begin with a letter, so programs may read the text as an address.
        case address
        /// The name leads to this machine, whichever program listens there.
        case localhost

        /// The error, worded to follow "the host".
        public var description: String {
            switch self {
            case .tooLong: "is too long"
            case .badLabel: "has an empty label, or one that begins or ends with '-'"
            case .forbiddenCharacter("*"): "has a '*', but each host needs its own proof; name it in full"
            case .forbiddenCharacter(":"): "contains ':', but only links without a port are for apps"
            case .forbiddenCharacter(let scalar):
                "contains \(printable(scalar)); it is made of letters, digits, '-' and '.', and an international name "
                    + "begins with xn--"
            case .noDot: "needs at least two labels, as in example.com"
            case .address: "is an address, or ends in a number"
            case .localhost: "leads to this machine, where any program may listen"
            }
        }
    }

    /// Checks a host and stores it in lower case.
    public init(_ text: String) throws(ParseError) {
        guard text.utf8.count <= Self.maximumLength else { throw .tooLong }
        for scalar in text.unicodeScalars where scalar == "_" || !(isNameScalar(scalar) || scalar == ".") {
            throw .forbiddenCharacter(scalar)
        }
        let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        for label in labels {
            guard let first = label.first, let last = label.last, first != UInt8(ascii: "-"), last != UInt8(ascii: "-")
            else { throw .badLabel }
            guard label.count <= Self.maximumLabel else { throw .tooLong }
        }
        rawValue = text.lowercased()
        guard labels.last?.first.map(isLetter) == true else { throw .address }
        guard rawValue != "localhost", !rawValue.hasSuffix(".localhost") else { throw .localhost }
        guard labels.count > 1 else { throw .noDot }
    }

    /// Compares by byte order.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    /// The host itself.
    public var description: String { rawValue }
}
