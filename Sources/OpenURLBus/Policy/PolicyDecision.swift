/// A policy's decision about a URL on its way to a handler.
public enum PolicyDecision: String, Sendable, Hashable, CaseIterable {
    /// The URL is opened.
    case allow
    /// The router asks the user.
    case ask
    /// The URL is not opened.
    case deny
}

extension PolicyDecision: Word {
    package static func problem(with word: String) -> String {
        "'\(word)' is not a decision; a decision is allow, ask or deny"
    }
}
