internal import CLinux
internal import Glibc
public import SystemPackage

/// An alarm for a time on the system's clock (`CLOCK_REALTIME`), on an event loop.
///
/// Unlike a deadline of the loop, it follows the clock: if the clock is set, the alarm goes off when the clock shows the
/// time. It does not wake a machine that sleeps, but goes off when the machine is awake again.
///
/// Use an alarm only on the loop's thread. The loop keeps it alive until ``cancel()``.
public final class WallClockAlarm {
    private let descriptor: CInt
    private let loop: EventLoop
    private let onEvent: (Event) -> Void
    private var watch: DescriptorWatch?

    /// Why an alarm goes off.
    public enum Event: Sendable, Hashable {
        /// The clock has reached the time. The alarm is no longer set.
        case timeHasCome
        /// The clock has jumped, because it was set or because the machine was asleep. The alarm is still set.
        case clockWasSet
    }

    /// Creates an alarm that is not set. Call this on the loop's thread.
    ///
    /// - Parameter onEvent: Called on the loop's thread each time the alarm goes off.
    /// - Throws: `.tooManyOpenFiles` if the process has no descriptor left.
    public init(on loop: EventLoop, onEvent: @escaping (Event) -> Void) throws(Errno) {
        descriptor = timerfd_create(CLOCK_REALTIME, CInt(TFD_CLOEXEC) | CInt(TFD_NONBLOCK))
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        self.loop = loop
        self.onEvent = onEvent
        watch = loop.watch(descriptor, for: .readable) { _ in self.read() }
    }

    deinit {
        close(descriptor)
    }

    /// Sets the alarm, in place of an earlier time.
    ///
    /// - Parameter milliseconds: The time since 1970, in milliseconds; nil for none. A time that has passed makes the
    ///   alarm go off at once. Without a time, no event wakes the loop, even if the clock is set.
    public func set(_ milliseconds: Int64?) {
        guard watch != nil else { return }
        var time = itimerspec()
        var flags: CInt = 0
        if let milliseconds {
            // A time of zero would unset the alarm.
            let milliseconds = max(milliseconds, 1)
            time.it_value.tv_sec = time_t(milliseconds / 1000)
            time.it_value.tv_nsec = Int(milliseconds % 1000) * 1_000_000
            flags = CInt(TFD_TIMER_ABSTIME) | CInt(TFD_TIMER_CANCEL_ON_SET)
        }
        guard timerfd_settime(descriptor, flags, &time, nil) < 0, errno == ECANCELED else { return }
        // The clock has jumped since the alarm was last set. The kernel has set the alarm, but reports the jump only here.
        loop.schedule(at: .now) { [weak self] in self?.report(.clockWasSet) }
    }

    /// Ends the alarm. It does not go off any more.
    public func cancel() {
        set(nil)
        watch?.cancel()
        watch = nil
    }

    private func read() {
        var count: UInt64 = 0
        let size = Glibc.read(descriptor, &count, MemoryLayout.size(ofValue: count))
        if size > 0 { return report(.timeHasCome) }
        // Any other error means that there is nothing to read yet.
        if errno == ECANCELED { report(.clockWasSet) }
    }

    private func report(_ event: Event) {
        if watch != nil { onEvent(event) }
    }
}
