/// The last element of the path of a request's handle, which the caller chooses: 1 to 64 ASCII letters, digits and
/// underscores.
///
/// A token is in use until the request has its answer. A caller that numbers its requests can use the numbers as
/// tokens.
public struct HandleToken: RawRepresentable, Sendable, Hashable {
    /// This token as text.
    public let rawValue: String

    /// Creates a token; nil if the text breaks the rule.
    public init?(rawValue: String) {
        guard (1...64).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy(\.isPathByte) else { return nil }
        self.rawValue = rawValue
    }
}

extension HandleToken: Word {
    package static func problem(with word: String) -> String {
        "a handle's token has 1 to 64 letters, digits and underscores"
    }
}

extension UInt8 {
    /// Whether the byte is an ASCII letter.
    var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }

    /// Whether the byte can appear in an element of an object path.
    var isPathByte: Bool { isLetter || (0x30...0x39).contains(self) || self == UInt8(ascii: "_") }
}
