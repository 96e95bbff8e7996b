internal import CLinux
internal import Glibc

/// How long a loop that expects input polls before it sleeps.
///
/// Waking up costs more than a short call: on each side of the call, the kernel needs 30 to 60 µs to wake an idle
/// processor in a virtual machine. Two processes that exchange 200 bytes over a local socket need 66 µs for a round
/// trip if they sleep in between, and 6 µs if they poll. So when a loop has just sent something, it polls for a moment,
/// and yields the processor between polls.
///
/// The kernel does the same for network sockets (`SO_BUSY_POLL` in `socket(7)`), but not for local ones. This type
/// follows the rule of `guest_halt_poll_ns`, which applies to the processors of a virtual machine:
///
/// - If a wait was longer than the window but no longer than ``longest``, the window doubles, up to ``longest``.
/// - If a wait was longer than ``longest``, the window is halved, down to zero.
///
/// Therefore, a loop that usually waits longer than ``longest`` stops polling.
struct BusyPoll {
    /// The longest window. A URL's trip from a caller through the router to a handler and back takes less time than
    /// this.
    static let longest = Duration.microseconds(500)
    static let shortest = Duration.microseconds(50)

    /// Time to poll before sleeping.
    private(set) var window = Duration.zero

    /// Adapts the window to the length of a wait.
    mutating func waitEnded(after taken: Duration) {
        if taken > Self.longest {
            let half = window / 2
            window = half < Self.shortest ? .zero : half
        } else if taken > window {
            window = min(max(Self.shortest, window * 2), Self.longest)
        }
    }
}

extension DescriptorSet {
    /// Waits like ``wait(milliseconds:)``, but without sleeping.
    mutating func waitBusily(until end: ContinuousClock.Instant) -> [(DescriptorWatch, DescriptorEvents)] {
        repeat {
            let ready = wait(milliseconds: 0)
            if !ready.isEmpty { return ready }
            sched_yield()
        } while ContinuousClock.now < end
        return []
    }
}
