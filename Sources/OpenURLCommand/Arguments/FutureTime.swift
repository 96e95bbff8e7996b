internal import ArgumentParser
internal import Glibc
internal import OpenURLBus
internal import Translations

/// A time for which a URL is stored, given on the command line.
///
/// | argument | meaning |
/// |---|---|
/// | `9:30` | the next time that the clock shows this, which may be tomorrow |
/// | `tomorrow 9:30` | this time on the next day |
/// | `2026-12-01T09:30` | this time on the clock of the session; a space may stand for the `T` |
/// | `2026-12-01T09:30Z`, `2026-12-01T09:30+01:00` | a point in time |
/// | `+2h`, `in 2 hours` | a point in time at this distance from now |
///
/// Each time of day may have seconds.
enum FutureTime: Sendable, Hashable {
    /// A time of day: today or tomorrow, or tomorrow only.
    case timeOfDay(hour: Int, minute: Int, second: Int, isTomorrow: Bool)
    case wallClock(WallClockTime)
    /// Milliseconds since 1970.
    case instant(Int64)
    /// Seconds from now.
    case later(Int64)

    init(_ argument: String) throws {
        let words = argument.split(separator: " ", omittingEmptySubsequences: false)
        switch (words.count, words.first) {
        case (3, "in"):
            guard let time = Self.seconds(words[1], unit: words[2]) else { throw Self.problem }
            self = .later(time)
        case (2, "tomorrow"):
            guard let time = Self.timeOfDay(words[1], isTomorrow: true) else { throw Self.problem }
            self = time
        case (1, _) where argument.utf8.first == UInt8(ascii: "+"):
            guard let time = Self.seconds(argument.dropFirst()) else { throw Self.problem }
            self = .later(time)
        default:
            guard let time = Self.timeOfDay(argument[...], isTomorrow: false) ?? Self.date(argument) else {
                throw Self.problem
            }
            self = time
        }
    }

    private static let problem = ValidationError(
        translated("write a time such as 9:30, 'tomorrow 9:30', +2h, 'in 2 hours' or 2026-12-01T09:30")
    )

    // MARK: Reading

    private static let units: [(names: [String], seconds: Int64)] = [
        (["s", "second", "seconds"], 1), (["m", "minute", "minutes"], 60), (["h", "hour", "hours"], 3600),
        (["d", "day", "days"], 86_400),
    ]
    /// A number of seconds that no time on the command line exceeds: the length of the calendar.
    private static let longest: Int64 = 253_402_300_800

    /// Reads a length of time such as `2h`.
    ///
    /// - Returns: The number of seconds; nil if the text is something else.
    static func seconds(_ text: some StringProtocol) -> Int64? {
        let text = Substring(text)
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        return seconds(digits, unit: text[digits.endIndex...])
    }

    private static func seconds(_ count: Substring, unit: Substring) -> Int64? {
        guard count.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(count),
            let length = units.first(where: { $0.names.contains(String(unit)) })?.seconds
        else { return nil }
        let (seconds, overflow) = count.multipliedReportingOverflow(by: length)
        return overflow || seconds > longest ? nil : seconds
    }

    /// Reads `9:30`, `09:30` or `09:30:15`.
    private static func timeOfDay(_ text: Substring, isTomorrow: Bool) -> FutureTime? {
        let hourDigits = text.prefix { $0 != ":" }.utf8.count
        // The date does not matter.
        let padded = hourDigits == 1 ? "0\(text)" : String(text)
        guard let time = WallClockTime("1970-01-01T\(padded)")?.seconds else { return nil }
        return .timeOfDay(
            hour: Int(time / 3600),
            minute: Int(time / 60 % 60),
            second: Int(time % 60),
            isTomorrow: isTomorrow
        )
    }

    /// Reads a date and a time of day, with or without a time zone.
    private static func date(_ argument: String) -> FutureTime? {
        var text = argument
        if let space = text.firstIndex(of: " ") { text.replaceSubrange(space...space, with: "T") }
        if let time = WallClockTime(text) { return .wallClock(time) }
        if text.utf8.last == UInt8(ascii: "Z") {
            return WallClockTime(text.dropLast()).map { .instant($0.seconds * 1000) }
        }
        // An offset from UTC, such as +01:00.
        let offset = text.suffix(6)
        guard let sign = offset.first, sign == "+" || sign == "-",
            let distance = WallClockTime("1970-01-01T\(offset.dropFirst())")?.seconds,
            let time = WallClockTime(text.dropLast(6))
        else { return nil }
        let instant = time.seconds + (sign == "+" ? -distance : distance)
        return instant < 0 ? nil : .instant(instant * 1000)
    }

    // MARK: Meaning

    /// Whether the time can be the first of several.
    var isRepeatable: Bool { if case .instant = self { false } else { true } }

    /// Returns the time in the form in which the router takes it; nil if it is after the year 9999.
    ///
    /// - Parameters:
    ///   - now: The current time, in milliseconds since 1970.
    ///   - isRepeated: Whether the time is the first of several, which are times on the clock.
    ///   - wallClock: Returns the time on the clock at a time in seconds since 1970.
    func deliveryTime(
        at now: UInt64,
        isRepeated: Bool,
        wallClock: (Int64) -> WallClockTime? = LocalTime.wallClock
    ) -> DeliveryTime? {
        let now = Int64(clamping: now)
        switch self {
        case .wallClock(let time): return .wallClock(time)
        case .instant(let milliseconds): return .instant(milliseconds: milliseconds)
        case .later(let seconds):
            let instant = now + seconds * 1000
            if isRepeated { return wallClock(instant / 1000).map(DeliveryTime.wallClock) }
            return WallClockTime(seconds: instant / 1000) == nil ? nil : .instant(milliseconds: instant)
        case .timeOfDay(let hour, let minute, let second, let isTomorrow):
            guard let clock = wallClock(now / 1000) else { return nil }
            let today = clock.inDays(0, hour: hour, minute: minute, second: second)
            if !isTomorrow, let today, today.seconds > clock.seconds { return .wallClock(today) }
            return clock.inDays(1, hour: hour, minute: minute, second: second).map(DeliveryTime.wallClock)
        }
    }
}

extension RepeatInterval {
    /// Reads an interval, such as `day`.
    init(argument: String) throws {
        guard let interval = RepeatInterval(rawValue: argument) else {
            let known = RepeatInterval.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(translated("write an interval: \(known)"))
        }
        self = interval
    }
}
