internal import Glibc
internal import OpenURLBus

/// Times for people to read.
enum LocalTime {
    /// Returns seconds since 1970 as an ISO 8601 date and time in the user's time zone.
    static func text(_ seconds: UInt64) -> String {
        var time = time_t(clamping: seconds)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return Table.absent }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress, strftime(start, buffer.count, "%Y-%m-%dT%H:%M:%S", &parts) > 0 else {
                return Table.absent
            }
            return String(cString: start)
        }
    }

    /// Returns the time on the user's clock at a time in seconds since 1970; nil if the year is out of range.
    static func wallClock(_ seconds: Int64) -> WallClockTime? {
        var time = time_t(clamping: seconds)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return nil }
        return WallClockTime(seconds: seconds + Int64(parts.tm_gmtoff))
    }
}
