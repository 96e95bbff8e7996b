internal import Translations

/// The user's reply.
enum PersonReply: String, Sendable, Hashable, CaseIterable {
    /// Open the URL.
    case once
    /// Open the URL, and later ones like it.
    case always
    /// Do not open the URL.
    case no
    /// Do not open the URL or later ones like it.
    case never
    /// No reply came in time, or the question was withdrawn.
    case late

    var isYes: Bool { self == .once || self == .always }
    var isForLater: Bool { self == .always || self == .never }

    /// Returns the replies that a person can choose from.
    static func choices(isMemorable: Bool) -> [PersonReply] {
        isMemorable ? [.once, .always, .no, .never] : [.once, .no]
    }

    /// The button's text.
    var label: String {
        switch self {
        case .once: translated("Open")
        case .always: translated("Always open")
        case .no, .late: translated("Do not open")
        case .never: translated("Never open")
        }
    }
}

/// A way to ask the user.
protocol PersonAsking: Sendable {
    /// Asks a question, and returns the reply if it comes in time. If the task is cancelled, the dialog is closed.
    ///
    /// - Returns: Nil if there is nobody to ask in this way.
    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply?
}

/// Asks nobody, as in a router without a session.
struct Nobody: PersonAsking {
    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply? { nil }
}
