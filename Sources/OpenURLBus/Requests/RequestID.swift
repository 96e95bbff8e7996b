/// A request's ID, from the caller's options to the handler's context: 1 to 64 ASCII letters, digits, dots, hyphens and
/// underscores, beginning with a letter.
///
/// A handler that must not act twice on a URL remembers these IDs. The router's own IDs begin with a digit, so a caller
/// cannot use up another request's ID.
public struct RequestID: RawRepresentable, Sendable, Hashable {
    /// This ID as text.
    public let rawValue: String

    /// Creates an ID; nil if the text breaks the rule.
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
