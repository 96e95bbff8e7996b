internal import CLinux
internal import DequeModule
internal import Glibc

/// Commands that were started recently, with the number of openings that led to each.
///
/// Through a script or another program, a desktop entry can lead back to the router, which would then keep starting
/// processes forever. The router recognises a command's descendants by the process session that the command was started
/// in, but a descendant can leave that session. This belongs to the router's actor.
final class CommandHops {
    /// URLs that a command opens within this time are taken to follow from its own URL. URLs that it opens later are
    /// considered a new action by the user.
    let period: Duration

    private struct Start {
        let hops: UInt32
        /// The application or handler whose command it is.
        let id: String
        let end: ContinuousClock.Instant
    }

    private var starts: [pid_t: Start] = [:]
    private var order: Deque<pid_t> = []

    init(for period: Duration) {
        self.period = period
    }

    /// The number of openings that led to the command that a process descends from, not counting the command's own; nil
    /// if the process descends from no such command.
    subscript(pid: UInt32) -> UInt32? {
        start(of: pid)?.hops
    }

    /// Returns the application or handler whose command a process descends from; nil if it descends from no such command.
    func id(of pid: UInt32) -> String? { start(of: pid)?.id }

    private func start(of pid: UInt32) -> Start? {
        guard !starts.isEmpty, let pid = pid_t(exactly: pid), let start = starts[getsid(pid)], start.end > .now
        else { return nil }
        return start
    }

    /// Notes a command that was started in its own process session.
    func add(_ pid: pid_t, hops: UInt32, of id: String = "", now: ContinuousClock.Instant = .now) {
        while let first = order.first, starts[first].map({ $0.end <= now }) ?? true {
            order.removeFirst()
            starts[first] = nil
        }
        // If the kernel has reused a process ID, the ID keeps its original position in the order, and is removed when
        // its new time has run out.
        if starts.updateValue(Start(hops: hops, id: id, end: now + period), forKey: pid) == nil { order.append(pid) }
    }
}
