internal import Glibc
internal import OpenURLBus

/// The rules of a time zone: how far the wall clock is ahead of UTC at any time.
struct TimeZoneRules: Sendable {
    /// Returns how far the clock is ahead of UTC, in seconds, at a time in seconds since 1970.
    let offset: @Sendable (_ instant: Int64) -> Int64

    /// The zone of the session, as the C library knows it: that of `TZ`, or of `/etc/localtime`.
    static var session: TimeZoneRules {
        // Only this function notices that `/etc/localtime` has changed.
        tzset()
        return TimeZoneRules { instant in
            var time = time_t(clamping: instant)
            var parts = tm()
            return localtime_r(&time, &parts) == nil ? 0 : Int64(parts.tm_gmtoff)
        }
    }

    /// Returns the time that the wall clock shows at a time in seconds since 1970.
    func wallClock(at instant: Int64) -> WallClockTime? {
        WallClockTime(seconds: instant + offset(instant))
    }

    /// Returns when the wall clock shows a time, in seconds since 1970.
    ///
    /// If the clock shows it twice, this is the first time. If the clock skips it, this is the first moment after the
    /// gap.
    func instant(of time: WallClockTime) -> Int64 {
        // The clock is at most 14 hours ahead of UTC and 12 hours behind, so the offset can only be one of those a day
        // earlier and a day later. Changes of the offset are further apart than that.
        let earlier = offset(time.seconds - Self.day)
        let later = offset(time.seconds + Self.day)
        let instants = [time.seconds - earlier, time.seconds - later]
        if let first = instants.filter({ $0 + offset($0) == time.seconds }).min() { return first }
        // The clock skips the time. Look for the first moment with the later offset.
        var (before, after) = (time.seconds - max(earlier, later), time.seconds - min(earlier, later))
        while after - before > 1 {
            let middle = before + (after - before) / 2
            if offset(middle) == later { after = middle } else { before = middle }
        }
        return after
    }

    private static let day: Int64 = 86_400
}
