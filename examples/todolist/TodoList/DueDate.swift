import Glibc

/// The due date of a to-do: an instant, and the offset of the local clock from UTC at that instant.
///
/// In a URL, it is `yyyymmddhhmm`, with a 24-hour clock, the Gregorian calendar and the local time zone, as in Listing
/// 6-2 of the iOS app programming guide. Files and programs use ISO 8601 with an offset, `2008-06-23T13:00:00+02:00`,
/// which means the same instant everywhere.
public struct DueDate: Hashable, Sendable {
    /// Seconds since 1970-01-01 00:00 UTC.
    public let secondsSince1970: Int

    /// Offset from UTC in minutes, positive to the east.
    public let minutesFromUTC: Int

    /// Creates the date of an instant, in the local time zone.
    public init(secondsSince1970: Int) {
        let local = CalendarTime(local: secondsSince1970)
        // Before there were time zones, the offsets of clocks also had seconds, which ISO 8601 cannot express. With an
        // offset in whole minutes, the instant stays exact, and the displayed time is less than a minute off.
        self.init(secondsSince1970: secondsSince1970, minutesFromUTC: local.secondsFromUTC / 60)
    }

    private init(secondsSince1970: Int, minutesFromUTC: Int) {
        self.secondsSince1970 = secondsSince1970
        self.minutesFromUTC = minutesFromUTC
    }

    /// The current date and time.
    public static var now: DueDate { DueDate(secondsSince1970: time(nil)) }

    /// Reads `yyyymmddhhmm` in the local time zone.
    ///
    /// When daylight saving ends, the clock shows some times twice. If this is one of them, it means the first of the
    /// two instants.
    ///
    /// - Throws: ``InvalidDate`` if the text has another form, or if the date does not exist, such as 30 February, hour
    ///   24, or a time that the local clock skips.
    public init(_ text: String) throws(InvalidDate) {
        guard let digits = Digits(text, form: "000000000000") else {
            throw InvalidDate(text: text, reason: .format("yyyymmddhhmm, twelve digits"))
        }
        let clock = CalendarTime(
            year: digits[0..<4],
            month: digits[4..<6],
            day: digits[6..<8],
            hour: digits[8..<10],
            minute: digits[10..<12]
        )
        if let reason = clock.invalidity { throw InvalidDate(text: text, reason: reason) }
        guard let seconds = clock.localSeconds else { throw InvalidDate(text: text, reason: .skippedByClock) }
        self.init(secondsSince1970: seconds)
    }

    /// Reads ISO 8601 in the form of ``iso8601``, with whole seconds and a numeric offset.
    ///
    /// - Throws: ``InvalidDate`` if the text has another form or the date does not exist.
    public init(iso8601 text: String) throws(InvalidDate) {
        let east = Digits(text, form: "0000-00-00T00:00:00+00:00")
        guard let digits = east ?? Digits(text, form: "0000-00-00T00:00:00-00:00") else {
            throw InvalidDate(text: text, reason: .format("yyyy-mm-ddThh:mm:ss±hh:mm"))
        }
        let clock = CalendarTime(
            year: digits[0..<4],
            month: digits[5..<7],
            day: digits[8..<10],
            hour: digits[11..<13],
            minute: digits[14..<16],
            second: digits[17..<19]
        )
        if let reason = clock.invalidity { throw InvalidDate(text: text, reason: reason) }
        let offset = (digits[20..<22] * 60 + digits[23..<25]) * (east == nil ? -1 : 1)
        self.init(secondsSince1970: clock.secondsInUTC - offset * 60, minutesFromUTC: offset)
    }

    /// The date in ISO 8601 with the offset, for example `2008-06-23T13:00:00+02:00`.
    public var iso8601: String {
        let clock = CalendarTime(utc: secondsSince1970 + minutesFromUTC * 60)
        let offset = abs(minutesFromUTC)
        return "\(clock.date)T\(clock.time):\(twoDigits(clock.second))"
            + (minutesFromUTC < 0 ? "-" : "+") + "\(twoDigits(offset / 60)):\(twoDigits(offset % 60))"
    }
}

extension DueDate: CustomStringConvertible {
    /// The date and time of the local clock, for example `2008-06-23 13:00`.
    public var description: String {
        let clock = CalendarTime(local: secondsSince1970)
        return "\(clock.date) \(clock.time)"
    }
}

extension DueDate: Comparable {
    /// Compares the instants. If they are equal, the offset decides.
    public static func < (left: DueDate, right: DueDate) -> Bool {
        (left.secondsSince1970, left.minutesFromUTC) < (right.secondsSince1970, right.minutesFromUTC)
    }
}

extension DueDate: Codable {
    /// Decodes the text of ``iso8601``.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
            try self.init(iso8601: container.decode(String.self))
        } catch let error as InvalidDate {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: error.description)
        }
    }

    /// Encodes the text of ``iso8601``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(iso8601)
    }
}

/// Thrown for a string that is not a date.
public struct InvalidDate: Error, Hashable, CustomStringConvertible {
    /// The problem with the text.
    public enum Reason: Hashable, Sendable {
        /// The text does not have this form.
        case format(String)
        /// The calendar has no year 0.
        case year
        /// There is no such month.
        case month(Int)
        /// The month has no such day.
        case day(Int, daysInMonth: Int)
        /// There is no such hour.
        case hour(Int)
        /// There is no such minute.
        case minute(Int)
        /// There is no such second.
        case second(Int)
        /// The local clock skips this time when daylight saving begins.
        case skippedByClock
    }

    /// The original text.
    public let text: String

    /// The problem with the text.
    public let reason: Reason

    /// A sentence about the problem.
    public var description: String {
        let problem =
            switch reason {
            case .format(let form): "its form is not \(form)"
            case .year: "there is no year 0"
            case .month(let month): "there is no month \(month)"
            case .day(let day, let days): "the month has \(days) days, not a day \(day)"
            case .hour(let hour): "there is no hour \(hour)"
            case .minute(let minute): "there is no minute \(minute)"
            case .second(let second): "there is no second \(second)"
            case .skippedByClock: "the local clock skips this time"
            }
        return "“\(text)” is not a date: \(problem)"
    }
}

/// A string of a fixed form, to read numbers from.
private struct Digits {
    private let text: [UInt8]

    /// Creates a value if the text has an ASCII digit at each `0` of the form and equals the form elsewhere; `nil`
    /// otherwise.
    init?(_ text: String, form: String) {
        self.text = Array(text.utf8)
        let zero = UInt8(ascii: "0")
        let digits = zero...UInt8(ascii: "9")
        guard self.text.map({ digits.contains($0) ? zero : $0 }) == Array(form.utf8) else { return nil }
    }

    /// Returns the number formed by the digits in a range of places.
    subscript(places: Range<Int>) -> Int {
        text[places].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}
