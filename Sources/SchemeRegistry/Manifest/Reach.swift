internal import UserFiles

/// The programs that may send URLs to a handler (`OUReach`).
///
/// `OUAllowedSources` limits the senders further.
public enum Reach: String, Sendable, Hashable, CaseIterable {
    /// Every program.
    case everyone
    /// The user's own programs, unless they are confined. The handler has no desktop entry, so no browser reaches it.
    case local
    /// Only the handlers listed in `OUAllowedSources`, and only through the router.
    case listed

    /// Thrown for a string that is not one of these words.
    public struct ParseError: Error, Hashable, CustomStringConvertible {
        let text: String

        /// The error, worded to follow the key's name.
        public var description: String {
            "is '\(printable(text))'; it has to be everyone, local or listed"
        }
    }

    /// Parses the value of the key.
    public init(_ text: String) throws(ParseError) {
        guard let reach = Reach(rawValue: text) else { throw ParseError(text: text) }
        self = reach
    }
}
