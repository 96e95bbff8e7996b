/// The reply of the person who uses the computer.
enum PersonReply: String, Sendable, Hashable, CaseIterable {
    /// The URL is opened.
    case once
    /// The URL is opened, and so are later ones like it.
    case always
    /// The URL is not opened.
    case no
    /// The URL is not opened, and neither are later ones like it.
    case never
    /// There was no reply within the time, or the question was withdrawn.
    case late

    var isYes: Bool { self == .once || self == .always }
    var isForLater: Bool { self == .always || self == .never }

    /// The replies that a person can choose from.
    static func choices(isMemorable: Bool) -> [PersonReply] {
        isMemorable ? [.once, .always, .no, .never] : [.once, .no]
    }

    /// The text of the button.
    var label: String {
        switch self {
        case .once: "Open"
        case .always: "Always open"
        case .no, .late: "Do not open"
        case .never: "Never open"
        }
    }
}

/// A way to ask the person who uses the computer.
protocol PersonAsking: Sendable {
    /// Asks a question, and returns the reply within the time. If the task is cancelled, the dialog is closed.
    ///
    /// - Returns: nil if nobody can be asked in this way.
    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply?
}

/// Nobody, as for a router without a session.
struct Nobody: PersonAsking {
    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply? { nil }
}
