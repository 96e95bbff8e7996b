internal import Glibc
internal import UserFiles

/// The date of a handler's registration: the modification time of its entry in the directory.
public struct RegistrationDate: Sendable, Hashable, Comparable {
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    public let nanoseconds: Int64

    /// Creates a date from a number of nanoseconds since 1970-01-01 00:00 UTC.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    init(modificationOf status: stat) {
        nanoseconds = UserFiles.nanoseconds(status.st_mtim)
    }

    /// The date in the form that system calls use.
    var time: timespec {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
    }

    /// Returns whether the left date is the earlier one.
    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
}
