/// The step between two deliveries of a URL that is repeated, on the clock and the calendar of the session.
public enum RepeatInterval: String, Sendable, Hashable, CaseIterable {
    case minute, hour, day, week, month, year

    /// The length of the step, if every step has the same length on the clock.
    var length: Step {
        switch self {
        case .minute: .seconds(60)
        case .hour: .seconds(3600)
        case .day: .seconds(86_400)
        case .week: .seconds(604_800)
        case .month: .months(1)
        case .year: .months(12)
        }
    }

    /// A step on a clock that is never set.
    enum Step {
        case seconds(Int64)
        /// The same day of a later month, or the last day of a month that is too short for it.
        case months(Int64)
    }
}

extension RepeatInterval: Word {
    package static func problem(with word: String) -> String {
        "'\(word)' is not a step; it must be one of \(words.joined(separator: ", "))"
    }
}
