internal import CLinux
internal import Glibc
public import SystemPackage

/// Reports when the wall clock jumps: when it is set, and when the machine wakes up (`TFD_TIMER_CANCEL_ON_SET` in
/// timerfd_create(2)).
///
/// It costs nothing while the clock runs as usual. Use a watch only on the loop's thread.
public final class ClockWatch {
    private let descriptor: CInt
    private var watch: DescriptorWatch?

    /// Starts a watch, which lasts until ``cancel()``.
    ///
    /// - Parameter handler: Called on the loop's thread each time the clock has jumped.
    /// - Throws: The kernel's error.
    public init(on loop: EventLoop, _ handler: @escaping () -> Void) throws(Errno) {
        descriptor = timerfd_create(CLOCK_REALTIME, CInt(O_NONBLOCK | O_CLOEXEC))
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        guard arm() else {
            let error = Errno(rawValue: errno)
            close(descriptor)
            throw error
        }
        watch = loop.watch(descriptor, for: .readable) { [unowned self] _ in
            var expirations: UInt64 = 0
            let count = read(descriptor, &expirations, MemoryLayout.size(ofValue: expirations))
            // The timer itself never expires: the kernel cancels it when the clock is set.
            guard count < 0, errno == ECANCELED else { return }
            guard arm() else { return cancel() }
            handler()
        }
    }

    /// Sets the timer to a time that never comes.
    private func arm() -> Bool {
        var time = itimerspec()
        time.it_value.tv_sec = .max
        let flags = CInt(TFD_TIMER_ABSTIME) | CInt(TFD_TIMER_CANCEL_ON_SET)
        while timerfd_settime(descriptor, flags, &time, nil) != 0 {
            // The clock has jumped again since the kernel last reported it.
            guard errno == ECANCELED else { return false }
        }
        return true
    }

    /// Ends the watch. Further calls do nothing.
    public func cancel() {
        guard let watch else { return }
        watch.cancel()
        close(descriptor)
        self.watch = nil
    }
}
