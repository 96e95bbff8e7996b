/// A word that another process reported, from a list that a later version may extend.
///
/// A list of handlers stays readable when the router is newer than the program that asks: a word that this version does not
/// know becomes ``unknown(_:)`` and keeps its text, so that a program can still print the word or pass it on.
public enum Reported<Known>: Sendable, Hashable
where Known: RawRepresentable & CaseIterable & Hashable & Sendable, Known.RawValue == String {
    /// A word that this version knows.
    case known(Known)
    /// Any other text, as it arrived; empty for a value that does not exist or did not arrive, see ``absent``.
    case unknown(String)

    /// The value that stands for none: the empty text.
    public static var absent: Reported { .unknown("") }

    /// The value, where this version knows the word.
    public var known: Known? {
        if case .known(let value) = self { value } else { nil }
    }
}

extension Reported: RawRepresentable, CustomStringConvertible {
    /// Creates a value from the word of the bus. Always use this initializer for a text: ``unknown(_:)`` with a known word is
    /// not equal to ``known(_:)``.
    public init(rawValue: String) {
        self = Known(rawValue: rawValue).map(Self.known) ?? .unknown(rawValue)
    }

    /// The word as it is on the bus.
    public var rawValue: String {
        switch self {
        case .known(let value): value.rawValue
        case .unknown(let word): word
        }
    }

    /// The word.
    public var description: String { rawValue }
}

extension Reported: Word {
    package static var words: [String] { Known.allCases.map(\.rawValue) }
}
