internal import Reactor

/// A command from its start until it ends, or has run for long enough to count as a yes.
///
/// The object belongs to the router's actor.
final class StartingCommand {
    private var isDecided = false
    private var exit: ProcessExit?
    private var waiter: CheckedContinuation<ProcessExit?, Never>?

    func ended(_ exit: ProcessExit) {
        guard !isDecided else { return }
        self.exit = exit
        settled()
    }

    func settled() {
        guard !isDecided else { return }
        isDecided = true
        waiter?.resume(returning: exit)
        waiter = nil
    }

    /// Resumes the continuation with the command's exit, or with `nil` if the command still runs.
    func wait(_ continuation: CheckedContinuation<ProcessExit?, Never>) {
        if isDecided { continuation.resume(returning: exit) } else { waiter = continuation }
    }
}
