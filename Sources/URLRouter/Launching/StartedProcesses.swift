internal import CLinux
internal import Glibc
internal import Reactor

/// Processes that the router has started and watches: its children, and services of systemd's manager.
///
/// By the time that a start's thread or the manager reports the new process, the process has already begun to run. If it
/// calls the router before it is reported, the call waits until the router knows the process.
final class StartedProcesses: Sendable {
    private struct State {
        /// Number of starts whose process is not watched yet.
        var starts = 0
        var watched: Set<pid_t> = []
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// Notes that a start begins.
    func startBegins() {
        state.withLock { $0.starts += 1 }
    }

    /// Notes that a start is over. The process's calls continue in later jobs of the loop.
    ///
    /// - Parameter pid: the process, which is watched from now on; nil if there is none.
    func startEnds(_ pid: pid_t?) {
        let waiters = state.withLock { state in
            state.starts -= 1
            if let pid { state.watched.insert(pid) }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Notes that a process has exited.
    func ended(_ pid: pid_t) {
        state.withLock { _ = $0.watched.remove(pid) }
    }

    /// Whether a process is being started.
    var areStarting: Bool { state.withLock { $0.starts > 0 } }

    /// Returns when the router knows the process that a caller descends from, if the router is starting that process.
    /// Other callers do not wait.
    ///
    /// - Parameter isInStartingService: returns whether a process is in a service that the router is starting.
    func waitForStart(of caller: UInt32?, isInStartingService: (pid_t) -> Bool) async {
        guard let caller else { return }
        while isBeingStarted(caller, isInStartingService) {
            await withCheckedContinuation { continuation in
                // By now, that start may be over, and another one may be in progress.
                guard isBeingStarted(caller, isInStartingService) else { return continuation.resume() }
                state.withLock { $0.waiters.append(continuation) }
            }
        }
    }

    /// Returns whether a process's session was begun by a process that the router is starting and does not watch yet.
    private func isBeingStarted(_ pid: UInt32, _ isInStartingService: (pid_t) -> Bool) -> Bool {
        guard areStarting, let pid = pid_t(exactly: pid) else { return false }
        let leader = getsid(pid)
        guard leader > 0, !state.withLock({ $0.watched.contains(leader) }) else { return false }
        if isInStartingService(leader) { return true }
        // Even after a child has exited, this call finds it, until the router has collected the exit status.
        var info = siginfo_t()
        return waitid(P_PID, id_t(leader), &info, WEXITED | WNOHANG | WNOWAIT) == 0
    }
}
