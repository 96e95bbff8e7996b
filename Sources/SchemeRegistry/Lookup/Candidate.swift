/// A rule that decides between two handlers that claim the same URL.
public enum WinningRule: Sendable, Hashable, CustomStringConvertible {
    /// What whoever opens the URL asks for comes before every other.
    case request
    /// The handler of a fixed scheme before every other.
    case fixedScheme
    /// What the user chose for the scheme (`mimeapps.list`, `[Default Applications]`).
    case userDefault
    /// The longer of the hosts that match, one host before a pattern, any pattern before none.
    case host
    /// The user's directory before the system's, and those in their order.
    case directory
    /// A handler of the registry before an application of the desktop's in a directory of the same precedence.
    case kind
    /// The desktop's own order among its applications, by which one also loses to a handler that comes before the
    /// application in front of it.
    case association
    /// The earlier registration.
    case registrationDate
    /// The bundle id that comes first in byte order.
    case identifier

    /// The rule as a sentence says it.
    public var description: String {
        switch self {
        case .request: "the one that is asked for comes first"
        case .fixedScheme: "a fixed scheme's handler comes first"
        case .userDefault: "the user's default comes first"
        case .host: "the longest matching host comes first"
        case .directory: "the user's directory comes before the system's, and those in their order"
        case .kind: "a handler, which answers, comes before an application"
        case .association: "the desktop's own order (mimeapps.list, mimeinfo.cache)"
        case .registrationDate: "the earliest registration comes first"
        case .identifier: "the first bundle id in byte order comes first"
        }
    }
}

/// What could have a URL, and why it gets it or not.
public struct Candidate: Sendable, Hashable, CustomStringConvertible {
    /// How a candidate came off.
    public enum Outcome: Sendable, Hashable {
        /// It gets the URL, as nothing else claims it.
        case unopposed
        /// It gets the URL; the rule is the one that put it before the next candidate.
        case won(by: WinningRule)
        /// Another one gets it; the rule is the first that tells the two apart.
        case lost(to: String, by: WinningRule)

        /// Whether it gets the URL.
        public var wins: Bool {
            if case .lost = self { false } else { true }
        }

        /// Why, as a sentence says it.
        public var reason: String {
            switch self {
            case .unopposed: "nothing else claims this URL"
            case .won(let rule), .lost(_, let rule): rule.description
            }
        }
    }

    /// The handler or application.
    public let claimant: Claimant
    /// The pattern that the URL's host matches; `nil` if it takes any host.
    public let host: HostPattern?
    /// How it came off.
    public let outcome: Outcome

    /// A sentence for a person.
    public var description: String {
        let claim = host.map { "\(claimant) (\($0))" } ?? claimant.id
        return switch outcome {
        case .unopposed, .won: "\(claim) wins: \(outcome.reason)"
        case .lost(let winner, _): "\(claim) loses to \(winner): \(outcome.reason)"
        }
    }
}

/// A scheme that more than one handler claims for the same URLs, which is never decided in silence.
///
/// Fixed handlers among themselves are no conflict: that is how the system divides a scheme by hosts.
public struct Conflict: Sendable, Hashable {
    /// The scheme.
    public let scheme: Scheme
    /// The handlers, in the order of ``Registry/handlers(claiming:)``.
    public let handlers: [BundleIdentifier]
}
