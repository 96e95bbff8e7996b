import Glibc

/// A date and a time of day in the Gregorian calendar, as the C library computes them.
struct CalendarTime {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second = 0

    /// Offset from UTC in seconds, positive to the east. It is known only if the time was made from an instant.
    var secondsFromUTC = 0

    /// The reason why the time does not exist in the Gregorian calendar; `nil` if it does.
    var invalidity: InvalidDate.Reason? {
        guard year >= 1 else { return .year }
        guard (1...12).contains(month) else { return .month(month) }
        guard (1...daysInMonth).contains(day) else { return .day(day, daysInMonth: daysInMonth) }
        guard (0...23).contains(hour) else { return .hour(hour) }
        guard (0...59).contains(minute) else { return .minute(minute) }
        guard (0...59).contains(second) else { return .second(second) }
        return nil
    }

    private var daysInMonth: Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// The date, for example `2008-06-23`.
    var date: String {
        let digits = String(year)
        return String(repeating: "0", count: max(0, 4 - digits.count))
            + "\(digits)-\(twoDigits(month))-\(twoDigits(day))"
    }

    /// The time of day, for example `13:00`.
    var time: String { "\(twoDigits(hour)):\(twoDigits(minute))" }
}

// MARK: - To and from instants

extension CalendarTime {
    /// Creates the time that the local clock shows at an instant.
    init(local seconds: Int) {
        var fields = tm()
        var instant = time_t(seconds)
        // Unlike `mktime`, `localtime_r` may keep using the old time zone after TZ has changed.
        tzset()
        localtime_r(&instant, &fields)
        self.init(fields)
    }

    /// Creates the time that a UTC clock shows at an instant.
    init(utc seconds: Int) {
        var fields = tm()
        var instant = time_t(seconds)
        gmtime_r(&instant, &fields)
        self.init(fields)
    }

    /// The instant at which a UTC clock shows this time.
    var secondsInUTC: Int {
        var fields = fields
        return timegm(&fields)
    }

    /// The first instant at which the local clock shows this time; `nil` if it never does.
    ///
    /// For a skipped time, `mktime` returns a neighbouring instant, so the result counts only if it converts back to
    /// the same time. At the end of daylight saving, the clock shows an hour twice. Try daylight saving first, because
    /// its instant is the earlier one.
    var localSeconds: Int? {
        for daylightSaving: Int32 in [1, 0, -1] {
            var fields = fields
            fields.tm_isdst = daylightSaving
            let seconds = mktime(&fields)
            let shown = CalendarTime(local: seconds)
            if (shown.date, shown.time, shown.second) == (date, time, second) { return seconds }
        }
        return nil
    }

    private init(_ fields: tm) {
        self.init(
            year: Int(fields.tm_year) + 1900,
            month: Int(fields.tm_mon) + 1,
            day: Int(fields.tm_mday),
            hour: Int(fields.tm_hour),
            minute: Int(fields.tm_min),
            second: Int(fields.tm_sec),
            secondsFromUTC: fields.tm_gmtoff
        )
    }

    private var fields: tm {
        var fields = tm()
        fields.tm_year = Int32(year - 1900)
        fields.tm_mon = Int32(month - 1)
        fields.tm_mday = Int32(day)
        fields.tm_hour = Int32(hour)
        fields.tm_min = Int32(minute)
        fields.tm_sec = Int32(second)
        return fields
    }
}

/// Returns a number below 100 as two digits.
func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
