internal import CLinux
internal import Glibc
internal import Reactor

/// A command, from its start until it either exits or has run long enough to be considered to have accepted the URL.
///
/// It belongs to the router's actor.
final class StartingCommand {
    private var isDecided = false
    private var exit: ProcessExit?
    private var waiter: CheckedContinuation<ProcessExit?, Never>?
    /// Whether another command of the same handler may have written to this one's output.
    var sharedOutput = false
    /// The process, from its start until it exits.
    var process: RunningCommand?
    /// Whether the process has exited.
    var hasEnded = false
    /// The exit of a command that had already taken the URL.
    private var laterExit: ProcessExit?
    private var onLaterExit: ((ProcessExit) -> Void)?

    func ended(_ exit: ProcessExit) {
        guard !isDecided else {
            laterExit = exit
            onLaterExit?(exit)
            return onLaterExit = nil
        }
        self.exit = exit
        settled()
    }

    /// Calls the closure when a command that has taken the URL exits.
    func whenExitedLater(_ body: @escaping (ProcessExit) -> Void) {
        if let laterExit { body(laterExit) } else { onLaterExit = body }
    }

    func settled() {
        guard !isDecided else { return }
        isDecided = true
        waiter?.resume(returning: exit)
        waiter = nil
    }

    /// Resumes the continuation with the command's exit, or with `nil` if it is still running.
    func wait(_ continuation: CheckedContinuation<ProcessExit?, Never>) {
        if isDecided { continuation.resume(returning: exit) } else { waiter = continuation }
    }
}

/// A command's process.
struct RunningCommand: Hashable {
    let pid: pid_t
    /// When it was started, in seconds since 1970.
    let since: UInt64
}

/// One handler's running commands, which write to the same output.
///
/// Any line of this output may quote a secret from another sender's URL, so if several commands were running at the
/// same time, no sender gets to see a line.
final class CommandWriters {
    private var count = 0
    private var processes: [RunningCommand] = []
    /// Whether commands have overlapped since the last time that none was running.
    private(set) var haveOverlapped = false

    func add() {
        count += 1
        if count > 1 { haveOverlapped = true }
    }

    /// The most recently started command; nil while none is running.
    var latest: RunningCommand? { processes.last }

    /// Records the process of a command that has been added.
    func started(_ command: StartingCommand, _ pid: pid_t) {
        // The process may have exited before its start was reported.
        guard !command.hasEnded else { return }
        let process = RunningCommand(pid: pid, since: UInt64(time(nil)))
        command.process = process
        processes.append(process)
    }

    /// Removes a command, and returns whether it was the last one running.
    func remove(_ command: StartingCommand) -> Bool {
        command.hasEnded = true
        processes.removeAll { $0 == command.process }
        count -= 1
        return count == 0
    }
}
