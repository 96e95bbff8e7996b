/// A date and a time of day as a wall clock shows them, without a time zone: from the year 1970 to the year 9999
/// in the Gregorian calendar.
public struct WallClockTime: Sendable, Hashable {
    /// Seconds from 1970-01-01T00:00:00 to this time, if every day has 24 hours.
    package let seconds: Int64

    /// The number of ``seconds`` at the end of the year 9999.
    private static let end: Int64 = 253_402_300_800
    private static let secondsPerDay: Int64 = 86_400

    /// Creates a time from its ``seconds``; nil if the year is out of range.
    package init?(seconds: Int64) {
        guard (0..<Self.end).contains(seconds) else { return nil }
        self.seconds = seconds
    }

    /// Creates a time; nil if there is no such date or time of day.
    public init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int = 0) {
        guard (1970...9999).contains(year), (1...12).contains(month),
            (1...Self.days(in: Int64(month), of: Int64(year))).contains(Int64(day)),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        let date = Self.day(year: Int64(year), month: Int64(month), day: Int64(day))
        self.init(date: date, time: Int64(hour * 3600 + minute * 60 + second))
    }

    private init(date: Int64, time: Int64) {
        seconds = date * Self.secondsPerDay + time
    }

    /// The time of day, in seconds since midnight.
    private var timeOfDay: Int64 { seconds % Self.secondsPerDay }

    /// Returns a time of day a number of days after this date; nil if the year is out of range.
    package func inDays(_ days: Int64, hour: Int, minute: Int, second: Int) -> WallClockTime? {
        let start = seconds - timeOfDay + days * Self.secondsPerDay
        return WallClockTime(seconds: start + Int64(hour * 3600 + minute * 60 + second))
    }

    // MARK: Repeats

    /// Returns this time after a number of steps; nil if the year is out of range.
    ///
    /// A number of months after the 31st, in a month with 30 days, is the 30th.
    package func adding(_ count: Int64, _ interval: RepeatInterval) -> WallClockTime? {
        switch interval.step {
        case .seconds(let length):
            let (time, overflow) = length.multipliedReportingOverflow(by: count)
            return overflow || time > Self.end ? nil : WallClockTime(seconds: seconds + time)
        case .months(let length):
            let (year, month, day) = date
            let (added, overflow) = length.multipliedReportingOverflow(by: count)
            guard !overflow, (0...Self.end).contains(added) else { return nil }
            let months = year * 12 + month - 1 + added
            let (newYear, newMonth) = (months / 12, months % 12 + 1)
            guard newYear <= 9999 else { return nil }
            let newDay = min(day, Self.days(in: newMonth, of: newYear))
            return WallClockTime(date: Self.day(year: newYear, month: newMonth, day: newDay), time: timeOfDay)
        }
    }

    /// Returns how many whole steps there are from this time to another one; a negative number if the other is earlier.
    package func count(of interval: RepeatInterval, until other: WallClockTime) -> Int64 {
        switch interval.step {
        case .seconds(let length):
            let difference = other.seconds - seconds
            return difference / length - (difference % length < 0 ? 1 : 0)
        case .months(let length):
            let (from, to) = (date, other.date)
            let months = (to.year - from.year) * 12 + to.month - from.month
            // The step is not whole before the day in the last month.
            let steps = months / length - (months % length < 0 ? 1 : 0)
            guard let reached = adding(max(0, steps), interval) else { return steps }
            return reached.seconds > other.seconds ? steps - 1 : steps
        }
    }

    // MARK: The calendar

    /// The number of days from 1970-01-01 to a date (Howard Hinnant, “chrono-Compatible Low-Level Date Algorithms”).
    private static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
        // The year begins in March, so that the leap day is its last day.
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private var date: (year: Int64, month: Int64, day: Int64) {
        let shifted = seconds / Self.secondsPerDay + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

// MARK: Text

extension WallClockTime: CustomStringConvertible {
    /// The time in the form of ISO 8601, such as `2026-12-01T09:00:00`.
    public var description: String {
        let (year, month, day) = date
        let (hour, minute, second) = (timeOfDay / 3600, timeOfDay / 60 % 60, timeOfDay % 60)
        return "\(padded(year, 4))-\(padded(month))-\(padded(day))T\(padded(hour)):\(padded(minute)):\(padded(second))"
    }

    /// Reads a time in the form of ISO 8601: `2026-12-01T09:00` or `2026-12-01T09:00:00`.
    public init?(_ text: some StringProtocol) {
        let halves = text.split(separator: "T", omittingEmptySubsequences: false)
        guard halves.count == 2, let date = numbers(halves[0], separator: "-", digits: [4, 2, 2]),
            let time = numbers(halves[1], separator: ":", digits: [2, 2, 2])
                ?? numbers(halves[1], separator: ":", digits: [2, 2])
        else { return nil }
        self.init(
            year: date[0],
            month: date[1],
            day: date[2],
            hour: time[0],
            minute: time[1],
            second: time.count > 2 ? time[2] : 0
        )
    }
}

/// Returns a number with leading zeros.
func padded(_ number: Int64, _ digits: Int = 2) -> String {
    let text = "\(number)"
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}

/// Reads numbers of a fixed number of ASCII digits; nil for any other text.
private func numbers(_ text: some StringProtocol, separator: Character, digits: [Int]) -> [Int]? {
    let words = text.split(separator: separator, omittingEmptySubsequences: false)
    guard words.count == digits.count else { return nil }
    let numbers = zip(words, digits).compactMap { word, count in
        word.utf8.count == count && word.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(word) : nil
    }
    return numbers.count == digits.count ? numbers : nil
}
