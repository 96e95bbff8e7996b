internal import Glibc

/// How long a loop that expects input looks for it before it sleeps.
///
/// The end of a sleep costs more than a short call takes: the kernel has to wake an idle processor, 30 to 60 µs on a virtual
/// machine, each time and on each side. So a loop that has just sent something looks for input again and again for a while,
/// and gives the processor to whoever else wants it in between. The kernel does the same for network sockets (SO_BUSY_POLL in
/// `socket(7)`), but not for local ones, and for the processors of a virtual machine (`guest_halt_poll_ns`), whose rule this
/// is: a wait that was a little longer than the window makes it twice as long, up to ``longest``, and one that was longer
/// than that half as long, down to nothing. Whoever waits for something slow, or is called now and then, never looks twice.
struct BusyPoll {
    /// Longer than a URL takes by way of the router to a handler and back.
    static let longest = Duration.microseconds(500)
    static let shortest = Duration.microseconds(50)

    /// For how long to look before sleeping.
    private(set) var window = Duration.zero

    /// Learns from how long a wait took.
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
    /// Waits as ``wait(milliseconds:)`` does, but without sleeping.
    mutating func waitBusily(until end: ContinuousClock.Instant) -> [(DescriptorWatch, DescriptorEvents)] {
        repeat {
            let ready = wait(milliseconds: 0)
            if !ready.isEmpty { return ready }
            sched_yield()
        } while ContinuousClock.now < end
        return []
    }
}
