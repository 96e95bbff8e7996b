/// A rule that decides between two handlers that claim the same URL.
public enum WinningRule: Sendable, Hashable, CustomStringConvertible {
    /// The handler of a fixed scheme comes before every other.
    case fixedScheme
    /// The longer of the hosts that match, one host before a pattern, any pattern before none.
    case host
    /// The user's directory before the system's, and those in their order.
    case directory
    /// The earlier registration.
    case registrationDate
    /// The bundle id that comes first in byte order.
    case identifier

    /// The rule as a sentence says it.
    public var description: String {
        switch self {
        case .fixedScheme: "a fixed scheme's handler comes first"
        case .host: "the longest matching host comes first"
        case .directory: "the user's directory comes before the system's, and those in their order"
        case .registrationDate: "the earliest registration comes first"
        case .identifier: "the first bundle id in byte order comes first"
        }
    }
}

/// A handler that could have a URL, and why it gets it or not.
public struct Candidate: Sendable, Hashable, CustomStringConvertible {
    /// How a candidate came off.
    public enum Outcome: Sendable, Hashable {
        /// It gets the URL, as no other handler wants it.
        case unopposed
        /// It gets the URL; the rule is the one that put it before the next candidate.
        case won(by: WinningRule)
        /// Another one gets it; the rule is the first that tells the two apart.
        case lost(to: BundleIdentifier, by: WinningRule)
    }

    /// The handler.
    public let handler: Handler
    /// The pattern that the URL's host matches; `nil` if the handler takes any host.
    public let host: HostPattern?
    /// How it came off.
    public let outcome: Outcome

    /// A sentence for a person.
    public var description: String {
        let claim = host.map { "\(handler.id) (\($0))" } ?? handler.id.rawValue
        return switch outcome {
        case .unopposed: "\(claim) wins: no other handler claims this URL"
        case .won(let rule): "\(claim) wins: \(rule)"
        case .lost(let winner, let rule): "\(claim) loses to \(winner): \(rule)"
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
