package import Glibc

/// A file's identity and state. Two reads of the same version return the same bytes.
package struct FileVersion: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
    package let size: Int64
    /// Time of the last change to the contents, in nanoseconds since 1970.
    package let modified: Int64
    /// Time of the last change to the contents or the status, in nanoseconds since 1970. Programs cannot set it.
    package let changed: Int64

    /// Creates the version of a file with this status.
    package init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = nanoseconds(status.st_mtim)
        changed = nanoseconds(status.st_ctim)
    }

    /// Creates a version that was recorded earlier.
    package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    /// Returns whether both versions are of the same file with the same contents. The status may differ, for example
    /// after the file has been renamed.
    package func hasContents(of other: FileVersion) -> Bool {
        device == other.device && inode == other.inode && size == other.size && modified == other.modified
    }

    /// Returns whether every later change will have a time other than ``changed``.
    ///
    /// File systems take the time from a clock that ticks every few milliseconds, so if there are two changes within
    /// one tick, the second does not change the time.
    ///
    /// - Parameter now: the time at which the version was seen.
    package func isSettled(at now: Int64) -> Bool { now - changed > 100_000_000 }
}

/// Returns a time in nanoseconds since 1970; for any time after the year 2262, returns the largest number.
package func nanoseconds(_ time: timespec) -> Int64 {
    let (seconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carried) = seconds.addingReportingOverflow(Int64(time.tv_nsec))
    return overflow || carried ? .max : sum
}

/// Returns the time of day in nanoseconds since 1970.
package func currentTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return nanoseconds(time)
}
