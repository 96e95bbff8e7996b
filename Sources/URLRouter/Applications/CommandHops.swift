internal import DequeModule
internal import Glibc

/// The commands that were started a moment ago, and how many openings in a row led to each.
///
/// A command is followed by the session that it was started in, which all its descendants are in unless they leave it: an
/// entry whose command leads back to the router, through a script or another program, starts processes without end
/// otherwise.
struct CommandHops {
    /// For so long what a command opens follows from its own URL. What it opens later is somebody's new wish.
    let period: Duration

    private struct Start {
        let hops: UInt32
        let end: ContinuousClock.Instant
    }

    private var starts: [pid_t: Start] = [:]
    private var order: Deque<pid_t> = []

    init(for period: Duration) {
        self.period = period
    }

    /// How many openings led to the command that a process descends from, the command's own not counted; nil if there is
    /// none.
    subscript(pid: UInt32) -> UInt32? {
        guard !starts.isEmpty, let pid = pid_t(exactly: pid), let start = starts[getsid(pid)], start.end > .now
        else { return nil }
        return start.hops
    }

    /// Notes a command that was started in a session of its own.
    mutating func add(_ pid: pid_t, hops: UInt32, now: ContinuousClock.Instant = .now) {
        while let first = order.first, starts[first].map({ $0.end <= now }) ?? true {
            order.removeFirst()
            starts[first] = nil
        }
        // A number that is used again stays in its first place, and goes when its new time is over.
        if starts.updateValue(Start(hops: hops, end: now + period), forKey: pid) == nil { order.append(pid) }
    }
}
