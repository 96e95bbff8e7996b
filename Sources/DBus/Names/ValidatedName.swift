/// A D-Bus string that follows a rule, which is checked when a value is created.
///
/// Debian's libdbus ends the process when it gets an invalid name. So no function in this module takes a plain `String`
/// as a name: a value of a name type proves that the name is valid.
///
/// Literals are checked too, and an invalid one stops the process, like other programming errors. Use `init(rawValue:)`
/// for strings from outside the program.
public protocol ValidatedName: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
where RawValue == String {
    /// Whether the bytes follow the rule for this kind of name ("Message Protocol", D-Bus specification).
    static func isValid(_ bytes: String.UTF8View) -> Bool
}

extension ValidatedName {
    /// Creates a name from a string; nil if the string breaks the rule.
    public init?(_ string: String) {
        self.init(rawValue: string)
    }

    /// Creates a name from a literal, which must follow the rule.
    public init(stringLiteral literal: String) {
        guard let name = Self(rawValue: literal) else { preconditionFailure("\(literal) is not a \(Self.self)") }
        self = name
    }

    /// The name as a string.
    public var description: String { rawValue }
}

/// Rules that several kinds of names share.
enum NameRule {
    static let maximumLength = 255

    static func isLetterOrUnderscore(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || byte == 0x5F
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte)
    }

    /// Whether the bytes are two or more elements, separated by dots. No element may be empty, and none may start with
    /// a digit unless `digitsMayLead` is true.
    static func isDotted(
        _ bytes: some Collection<UInt8>,
        allowsHyphen: Bool,
        digitsMayLead: Bool = false
    ) -> Bool {
        var elements = 1
        var isAtStart = true
        for byte in bytes {
            if byte == UInt8(ascii: ".") {
                if isAtStart { return false }
                elements += 1
                isAtStart = true
                continue
            }
            let isAllowed =
                isLetterOrUnderscore(byte) || (allowsHyphen && byte == UInt8(ascii: "-"))
                || (isDigit(byte) && (!isAtStart || digitsMayLead))
            guard isAllowed else { return false }
            isAtStart = false
        }
        return elements >= 2 && !isAtStart
    }
}
