/// A word that another process reported, from a list that a later version may extend.
///
/// A router that is newer than the caller may report a word that the caller does not know. The word then becomes
/// ``unknown(_:)`` and keeps its text, so that the caller can still read the rest of the answer and print the word.
public enum Reported<Known>: Sendable, Hashable
where Known: RawRepresentable & CaseIterable & Hashable & Sendable, Known.RawValue == String {
    /// A word that this version knows.
    case known(Known)
    /// Any other text, as it arrived. The empty text stands for no value; see ``absent``.
    case unknown(String)

    /// The empty text, which stands for no value.
    public static var absent: Reported { .unknown("") }

    /// The value, where this version knows the word.
    public var known: Known? {
        if case .known(let value) = self { value } else { nil }
    }
}

extension Reported: RawRepresentable, CustomStringConvertible {
    /// Creates a value from a word of the bus.
    ///
    /// Use this initializer for every text, because ``unknown(_:)`` with a known word is not equal to ``known(_:)``.
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
