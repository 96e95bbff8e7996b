// The type of the clock's time may come from either module, whichever the compiler loads first.
internal import CLinux
internal import Glibc

/// The system's clock (`CLOCK_REALTIME`).
package enum WallClock {
    /// Microseconds since 1970.
    package static var microseconds: UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return UInt64(clamping: now.tv_sec) * 1_000_000 + UInt64(clamping: now.tv_nsec / 1000)
    }

    /// Milliseconds since 1970.
    package static var milliseconds: Int64 { Int64(clamping: microseconds / 1000) }
}
