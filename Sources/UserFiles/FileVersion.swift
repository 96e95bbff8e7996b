package import Glibc

/// Which file it is and in which state: two reads of the same version give the same bytes.
package struct FileVersion: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
    package let size: Int64
    /// When its contents changed, in nanoseconds since 1970.
    package let modified: Int64
    /// When anything about it changed, which no program can set.
    package let changed: Int64

    package init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = nanoseconds(status.st_mtim)
        changed = nanoseconds(status.st_ctim)
    }

    package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    /// Whether it is the same file with the same contents, whatever else has changed of it, such as its name.
    package func hasContents(of other: FileVersion) -> Bool {
        device == other.device && inode == other.inode && size == other.size && modified == other.modified
    }

    /// Whether a later change gets another time, seen at `now`.
    ///
    /// File systems take the time from a clock that ticks only every few milliseconds, so of two changes within one tick
    /// the second leaves no mark.
    package func isSettled(at now: Int64) -> Bool { now - changed > 100_000_000 }
}

/// A time in nanoseconds since 1970; the last that there is for one beyond the year 2262.
package func nanoseconds(_ time: timespec) -> Int64 {
    let (seconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carried) = seconds.addingReportingOverflow(Int64(time.tv_nsec))
    return overflow || carried ? .max : sum
}

/// The time of day in nanoseconds since 1970.
package func currentTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return nanoseconds(time)
}
