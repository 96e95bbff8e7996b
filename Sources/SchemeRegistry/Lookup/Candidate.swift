/// A rule that decides which of two claimants gets a URL that both of them claim.
public enum WinningRule: Sendable, Hashable, CustomStringConvertible {
    /// A fixed scheme's handler wins.
    case fixedScheme
    /// A running program wins if it has claimed the scheme for as long as it runs.
    case claim
    /// The user's default for the scheme wins (`mimeapps.list`, `[Default Applications]`).
    case userDefault
    /// The longest matching host wins. A host beats a pattern, and a pattern beats a claim on any host.
    case host
    /// A claim on the scheme `file` beats claims on file types.
    case fileScheme
    /// The file's narrowest type wins.
    case fileType
    /// The best `LSHandlerRank` wins.
    case rank
    /// The claimant that comes first in the desktop's own order wins. Between two handlers, the order counts only where
    /// a file adds or removes an association.
    case association
    /// The user's directory beats the system's directories, which come in their own order.
    case directory
    /// The earliest registration wins.
    case registrationDate
    /// The bundle id that comes first in byte order wins.
    case identifier

    /// The rule, worded as part of a sentence.
    public var description: String {
        switch self {
        case .fixedScheme: "a fixed scheme's handler comes first"
        case .claim: "the program that 'openurl run' started comes first while it runs"
        case .userDefault: "the user's default comes first"
        case .host: "the longest matching host comes first"
        case .fileScheme: "a claim on the scheme file: comes before claims on types of files"
        case .fileType: "the narrowest type of the file comes first"
        case .rank: "the best LSHandlerRank comes first"
        case .directory: "the user's directory comes first, then the system's in the order of XDG_DATA_DIRS"
        case .association: "the desktop's own order (mimeapps.list, then the entries by directory and name)"
        case .registrationDate: "the earliest registration comes first"
        case .identifier: "the first bundle id in byte order comes first"
        }
    }
}

/// A handler or an application that could receive a URL, with the outcome and the reason for it.
public struct Candidate: Sendable, Hashable, CustomStringConvertible {
    /// Whether a candidate gets the URL, and why.
    public enum Outcome: Sendable, Hashable {
        /// The candidate gets the URL, because nothing else claims it.
        case unopposed
        /// The candidate gets the URL. This rule put it before the next one.
        case won(by: WinningRule)
        /// The application gets the URL, because it is the desktop's choice. The id is that of a system scheme's
        /// handler, which leaves its URLs to the desktop.
        case passed(by: String)
        /// The candidate gets the URL, because the sender asks for this candidate. The id is that of the claimant that
        /// would otherwise get the URL; `nil` if that is this candidate.
        case requested(insteadOf: String?)
        /// Another claimant gets the URL, because the sender asks for that claimant. If `isUsualWinner` is true, this
        /// candidate would otherwise get the URL.
        case notRequested(by: String, isUsualWinner: Bool)
        /// Another candidate gets the URL. This rule is the first one that distinguishes the two.
        case lost(to: String, by: WinningRule)

        /// Whether the candidate gets the URL.
        public var wins: Bool {
            switch self {
            case .unopposed, .won, .passed, .requested: true
            case .notRequested, .lost: false
            }
        }

        /// The reason, worded as part of a sentence.
        public var reason: String {
            switch self {
            case .unopposed: "nothing else claims this URL"
            case .passed(let id): "\(id) leaves the URL to the desktop, whose choice this is"
            case .requested(nil): "it was asked for, and would get this URL anyway"
            case .requested(let usual?): "it was asked for; otherwise \(usual) would get this URL"
            case .notRequested(let id, isUsualWinner: true): "\(id) was asked for; otherwise this one would get the URL"
            case .notRequested(let id, isUsualWinner: false): "\(id) was asked for"
            case .won(let rule), .lost(_, let rule): rule.description
            }
        }

        /// The reason for a program that must not learn which other handlers there are.
        package var namelessReason: String {
            switch self {
            case .passed: "this is the desktop's choice"
            case .requested: "it was asked for"
            case .notRequested: "another one was asked for"
            case .unopposed, .won, .lost: reason
            }
        }
    }

    /// The handler or application.
    public let claimant: Claimant
    /// The pattern that matches the URL's host; `nil` if the candidate accepts any host.
    public let host: HostPattern?
    /// The outcome for this candidate.
    public let outcome: Outcome

    /// A sentence about the outcome, for people to read.
    public var description: String {
        let claim = host.map { "\(claimant) (\($0))" } ?? claimant.id
        return switch outcome {
        case .unopposed, .won, .passed, .requested: "\(claim) wins: \(outcome.reason)"
        case .lost(let winner, _), .notRequested(let winner, _): "\(claim) loses to \(winner): \(outcome.reason)"
        }
    }
}

/// A scheme for which several handlers claim the same URLs. Each of these handlers is reported.
///
/// Several fixed handlers with the same scheme are not a conflict, because the system divides the scheme among them by
/// host.
public struct Conflict: Sendable, Hashable {
    /// The scheme.
    public let scheme: Scheme
    /// The handlers, in the order of ``Registry/handlers(claiming:)``.
    public let handlers: [BundleIdentifier]
}
