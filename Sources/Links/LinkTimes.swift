internal import Glibc

/// A moment of the week in local time.
package struct LinkMoment: Sendable, Hashable {
    /// The day, from 0 for Sunday to 6.
    let day: Int
    /// Minutes since midnight.
    let minute: Int

    package init(day: Int, minute: Int) {
        self.day = day
        self.minute = minute
    }

    /// Converts a time in seconds since 1970 to the local time.
    package init(seconds: Int64) {
        var time = time_t(seconds)
        var parts = tm()
        // Only this function notices that `/etc/localtime` has changed.
        tzset()
        localtime_r(&time, &parts)
        self.init(day: Int(parts.tm_wday), minute: Int(parts.tm_hour * 60 + parts.tm_min))
    }
}

/// The times at which a rule applies.
package struct LinkTimes: Sendable, Hashable {
    /// The first minute of the day, and the first one after; nil for the whole day. If the end is earlier, it is on the
    /// next day.
    var minutes: (start: Int, end: Int)? {
        get { start.flatMap { start in end.map { (start, $0) } } }
        set { (start, end) = (newValue?.start, newValue?.end) }
    }
    private var start: Int?
    private var end: Int?
    /// The days on which a period begins.
    var days = Set(0..<7)

    func contain(_ moment: LinkMoment) -> Bool {
        guard let (start, end) = minutes else { return days.contains(moment.day) }
        if start <= end { return days.contains(moment.day) && (start..<end).contains(moment.minute) }
        if moment.minute >= start { return days.contains(moment.day) }
        return moment.minute < end && days.contains((moment.day + 6) % 7)
    }

    private static let names = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    /// Reads days, such as `mon-fri` or `sat,sun`.
    static func days(_ text: String) throws(LinkSyntaxError) -> Set<Int> {
        var days: Set<Int> = []
        for part in text.lowercased().split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { name in
                names.firstIndex { $0 == name }
            }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1] else {
                throw LinkSyntaxError("'on' is followed by days, as in mon-fri or sat,sun")
            }
            var day = first
            days.insert(day)
            while day != last {
                day = (day + 1) % 7
                days.insert(day)
            }
        }
        return days
    }

    /// Reads a time of the day, such as `09:00`, in minutes; `24:00` is the end of the day.
    static func minute(_ text: String) throws(LinkSyntaxError) -> Int {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.utf8.count) }), parts[1].utf8.count == 2,
            let hours = UInt8(parts[0]), let minutes = UInt8(parts[1]), minutes < 60,
            hours < 24 || hours == 24 && minutes == 0
        else { throw LinkSyntaxError("'between' is followed by two times, as in between 09:00 and 17:00") }
        return Int(hours) * 60 + Int(minutes)
    }
}
