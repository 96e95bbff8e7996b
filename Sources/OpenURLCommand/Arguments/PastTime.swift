internal import ArgumentParser
internal import Glibc
internal import Translations

/// A time in the past, given on the command line: `10m`, `2h` or `3d` ago, or an ISO 8601 date, with or without a time
/// of day.
enum PastTime: Sendable, Hashable {
    /// A number of seconds ago.
    case ago(UInt64)
    /// Seconds since 1970.
    case at(UInt64)

    private static let units: [Character: UInt64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]

    init(_ argument: String) throws {
        if let unit = argument.last.flatMap({ Self.units[$0] }), let count = UInt64(argument.dropLast()) {
            self = .ago(count.multipliedReportingOverflow(by: unit).overflow ? .max : count * unit)
            return
        }
        let isUniversal = argument.hasSuffix("Z")
        let halves = (isUniversal ? argument.dropLast() : argument[...]).split(omittingEmptySubsequences: false) {
            $0 == "T" || $0 == " "
        }
        guard halves.count <= 2, let date = Self.numbers(halves[0], "-", [1900...9999, 1...12, 1...31]),
            date.count == 3, Self.isDay(date[2], ofMonth: date[1], date[0]),
            let time = halves.count == 1 ? [0, 0] : Self.numbers(halves[1], ":", [0...23, 0...59, 0...60]),
            time.count >= 2
        else {
            throw ValidationError(
                translated(
                    "write a time as a number with s, m, h or d, such as 10m, or as a date such as 2026-05-04T09:30"
                )
            )
        }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (date[0] - 1900, date[1] - 1, date[2])
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (time[0], time[1], time.count > 2 ? time[2] : 0)
        // Let the system decide whether summer time is in effect.
        parts.tm_isdst = -1
        self = .at(UInt64(clamping: isUniversal ? timegm(&parts) : mktime(&parts)))
    }

    /// Returns whether a month has a day of this number. `mktime` would take it for a day of the next month.
    private static func isDay(_ day: CInt, ofMonth month: CInt, _ year: CInt) -> Bool {
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day)
        // In universal time, no change to or from summer time moves the day.
        timegm(&parts)
        return parts.tm_mday == day
    }

    /// Reads numbers between separators, and returns nil for any other text. Trailing numbers may be missing.
    private static func numbers(
        _ text: Substring,
        _ separator: Character,
        _ ranges: [ClosedRange<CInt>]
    ) -> [CInt]? {
        let words = text.split(separator: separator, omittingEmptySubsequences: false)
        guard words.count <= ranges.count else { return nil }
        let numbers = zip(words, ranges).compactMap { word, range in
            word.allSatisfy(\.isNumber) ? CInt(word).flatMap { range.contains($0) ? $0 : nil } : nil
        }
        return numbers.count == words.count ? numbers : nil
    }

    /// Returns the time in microseconds since 1970.
    ///
    /// - Parameter now: the current time in microseconds since 1970.
    func microseconds(before now: UInt64) -> UInt64 {
        switch self {
        case .ago(let seconds):
            let (ago, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
            return overflow || ago > now ? 0 : now - ago
        case .at(let seconds):
            let (time, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
            return overflow ? .max : time
        }
    }
}
