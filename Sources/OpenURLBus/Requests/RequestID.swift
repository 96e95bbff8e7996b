/// Name of a request, from the caller's options to the context of the handler: 1 to 64 letters, digits, dots, hyphens
/// and underscores of ASCII, beginning with a letter.
///
/// If a handler must not act twice on a URL, it remembers these names. The router's own names begin with a digit, so a
/// caller cannot use up the name of another request.
public struct RequestID: RawRepresentable, Sendable, Hashable {
    /// This name as text.
    public let rawValue: String

    /// Creates a name; nil if the text breaks the rule.
    public init?(rawValue: String) {
        let bytes = rawValue.utf8
        guard (1...64).contains(bytes.count), bytes.first?.isLetter == true,
            bytes.allSatisfy({ $0.isPathByte || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") })
        else { return nil }
        self.rawValue = rawValue
    }
}

extension RequestID: Word {
    package static func problem(with word: String) -> String {
        "a request's name must begin with a letter, and may have at most 64 letters, digits, dots, hyphens and underscores"
    }
}
