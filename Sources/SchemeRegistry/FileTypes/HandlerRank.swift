internal import UserFiles

/// A handler's rank among those that open the same kind of file (`LSHandlerRank`).
public enum HandlerRank: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Creates files of this kind.
    case owner = "Owner"
    /// Opens files of this kind. This is the default.
    case `default` = "Default"
    /// Can open files of this kind, but other handlers come first.
    case alternate = "Alternate"
    /// Gets no files of this kind.
    case none = "None"

    /// Thrown for a string that is not one of these words.
    public struct ParseError: Error, Hashable, CustomStringConvertible {
        let text: String

        /// The error, worded to follow the key's name.
        public var description: String {
            "is '\(printable(text))'; it has to be one of \(HandlerRank.allCases.map(\.rawValue).joined(separator: ", "))"
        }
    }

    /// Parses the value of the key.
    public init(_ text: String) throws(ParseError) {
        guard let rank = HandlerRank(rawValue: text) else { throw ParseError(text: text) }
        self = rank
    }

    private var position: Int {
        switch self {
        case .owner: 0
        case .default: 1
        case .alternate: 2
        case .none: 3
        }
    }

    /// Compares by precedence: the owner is the smallest.
    public static func < (left: Self, right: Self) -> Bool { left.position < right.position }
}
