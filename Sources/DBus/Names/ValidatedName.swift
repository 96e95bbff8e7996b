/// A string of D-Bus that follows a rule of its own, checked once when it is made.
///
/// Debian's libdbus ends the process when it is handed a name that breaks the rule, so nothing in this module takes a
/// plain `String` where D-Bus wants a name: a value of the type is the proof that the name is good.
///
/// A literal is checked when the value is made and stops the process if it is wrong, as any other mistake in the source
/// would; everything that comes from outside goes through `init(rawValue:)`.
public protocol ValidatedName: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral,
    CustomStringConvertible
where RawValue == String {
    /// Whether the bytes follow the rule of this kind of name ("Message Protocol", D-Bus specification).
    static func isValid(_ bytes: String.UTF8View) -> Bool
}

extension ValidatedName {
    /// Takes a string that follows the rule; nil for any other.
    public init?(_ string: String) {
        self.init(rawValue: string)
    }

    /// Takes a literal, which has to follow the rule.
    public init(stringLiteral literal: String) {
        guard let name = Self(rawValue: literal) else { preconditionFailure("\(literal) is no \(Self.self)") }
        self = name
    }

    /// The name itself.
    public var description: String { rawValue }
}

/// The rules that the kinds of name share.
enum NameRule {
    static let maximumLength = 255

    static func isLetterOrUnderscore(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || byte == 0x5F
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte)
    }

    /// Elements between dots: at least two, none empty, none that starts with a digit unless `digitsMayLead`.
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
