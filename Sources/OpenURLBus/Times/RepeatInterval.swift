/// The step between two deliveries of a URL that is repeated, on the clock and the calendar of the session.
public enum RepeatInterval: String, Sendable, Hashable, CaseIterable {
    /// The next minute of the clock.
    case minute
    /// The next hour of the clock.
    case hour
    /// The same time of day on the next day.
    case day
    /// The same time of day on the same day of the next week.
    case week
    /// The same time of day on the same day of the next month, or on the last day of a month that is too short.
    case month
    /// The same time of day on the same date of the next year, or on 28 February instead of the 29th.
    case year

    /// The difference that one step makes to a time.
    var step: Step {
        switch self {
        case .minute: .seconds(60)
        case .hour: .seconds(3600)
        case .day: .seconds(86_400)
        case .week: .seconds(604_800)
        case .month: .months(1)
        case .year: .months(12)
        }
    }

    /// A distance in the calendar, in which every day has 24 hours.
    enum Step {
        case seconds(Int64)
        case months(Int64)
    }
}

extension RepeatInterval: Word {
    package static func problem(with word: String) -> String {
        "'\(word)' is not an interval; it must be one of \(words.joined(separator: ", "))"
    }
}
