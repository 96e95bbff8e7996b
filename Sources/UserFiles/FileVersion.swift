package import Glibc

/// The identity and the state of a file. Two reads of one version give the same bytes.
package struct FileVersion: Sendable, Hashable {
    package let device: UInt64
    package let inode: UInt64
    package let size: Int64
    /// The time of the last change of the contents, in nanoseconds since 1970.
    package let modified: Int64
    /// The time of the last change of the contents or the status, in nanoseconds since 1970. A program cannot set it.
    package let changed: Int64

    /// The version of a file that has a status.
    package init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = nanoseconds(status.st_mtim)
        changed = nanoseconds(status.st_ctim)
    }

    /// A version that was noted before.
    package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    /// Returns whether both versions are one file with the same contents. The status may differ, as after a new name.
    package func hasContents(of other: FileVersion) -> Bool {
        device == other.device && inode == other.inode && size == other.size && modified == other.modified
    }

    /// Returns whether every later change will have another time than ``changed``.
    ///
    /// File systems take the time from a clock that ticks every few milliseconds. The second of two changes within one
    /// tick leaves no mark.
    ///
    /// - Parameter now: the time when the version was seen.
    package func isSettled(at now: Int64) -> Bool { now - changed > 100_000_000 }
}

/// Returns a time in nanoseconds since 1970. A time after the year 2262 becomes the largest number.
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
