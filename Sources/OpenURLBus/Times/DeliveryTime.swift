internal import Glibc

/// When a queued URL is to be delivered: the option `at` of `OpenURL`.
public enum DeliveryTime: Sendable, Hashable {
    /// A point in time, in milliseconds since 1970 and before the year 10000. It does not depend on a time zone.
    case instant(milliseconds: Int64)
    /// A time on the clock of the session, in whichever time zone the session is by then.
    ///
    /// If the clock skips the time, the URL is delivered when the clock has skipped it. If the clock shows the time
    /// twice, the first one counts.
    case wallClock(WallClockTime)

    /// Returns the point in time at a given distance from now, in whole milliseconds.
    public static func after(_ duration: Duration) -> DeliveryTime {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        let milliseconds = Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
        let calendar = Duration.milliseconds(latest)
        let distance = min(max(duration, .zero - calendar), calendar).milliseconds
        return .instant(milliseconds: min(max(milliseconds + distance, 0), latest))
    }

    /// Whether it is a time on the clock of the session.
    package var isWallClock: Bool { if case .wallClock = self { true } else { false } }

    /// The last millisecond of the year 9999.
    private static let latest: Int64 = 253_402_300_799_999
}

extension DeliveryTime: RawRepresentable, Word {
    /// This time in the form of ISO 8601: `2026-12-01T09:00:00` on the clock of the session, or `2026-12-01T08:00:00.250Z`.
    public var rawValue: String {
        switch self {
        case .wallClock(let time): return time.description
        case .instant(let milliseconds):
            guard let time = WallClockTime(seconds: milliseconds / 1000) else { return "" }
            let part = milliseconds % 1000
            return part == 0 ? "\(time)Z" : "\(time).\(padded(part, 3))Z"
        }
    }

    /// Reads a time in the form of ISO 8601; nil for any other text. The fraction of a second has three digits.
    public init?(rawValue: String) {
        guard rawValue.utf8.last == UInt8(ascii: "Z") else {
            guard let time = WallClockTime(rawValue) else { return nil }
            self = .wallClock(time)
            return
        }
        let parts = rawValue.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard let time = WallClockTime(parts[0]) else { return nil }
        switch parts.count {
        case 1: self = .instant(milliseconds: time.seconds * 1000)
        case 2:
            guard parts[1].utf8.count == 3, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let part = Int64(parts[1])
            else { return nil }
            self = .instant(milliseconds: time.seconds * 1000 + part)
        default: return nil
        }
    }

    package static func problem(with word: String) -> String {
        "'\(word)' is not a time such as 2026-12-01T09:00:00 or 2026-12-01T08:00:00Z"
    }
}
