/// A word that another process reported, from a list that may grow in a later version.
///
/// If the router is newer than the caller, it may report a word that the caller does not know. Such a word becomes
/// ``unknown(_:)`` and keeps its text, so that the caller can still read the rest of the answer and print the word.
public enum Reported<Known>: Sendable, Hashable
where Known: RawRepresentable & CaseIterable & Hashable & Sendable, Known.RawValue == String {
    /// A word that this version knows.
    case known(Known)
    /// Any other text, as it arrived. An empty string means that there is no value; see ``absent``.
    case unknown(String)

    /// No value, which is the empty string.
    public static var absent: Reported { .unknown("") }

    /// The value if this version knows the word, and nil otherwise.
    public var known: Known? {
        if case .known(let value) = self { value } else { nil }
    }
}

extension Reported: RawRepresentable, CustomStringConvertible {
    /// Creates a value from a word on the bus.
    ///
    /// Use this initializer for every text: ``unknown(_:)`` with a known word does not equal ``known(_:)``.
    public init(rawValue: String) {
        self = Known(rawValue: rawValue).map(Self.known) ?? .unknown(rawValue)
    }

    /// The word as it appears on the bus.
    public var rawValue: String {
        switch self {
        case .known(let value): value.rawValue
        case .unknown(let word): word
        }
    }

    /// Same as ``rawValue``.
    public var description: String { rawValue }
}

extension Reported: Word {
    package static var words: [String] { Known.allCases.map(\.rawValue) }
}
