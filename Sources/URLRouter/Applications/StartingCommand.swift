internal import CLinux
internal import Glibc
internal import Reactor

/// A command from its start until it ends, or has run for long enough to count as a yes.
///
/// The object belongs to the router's actor.
final class StartingCommand {
    private var isDecided = false
    private var exit: ProcessExit?
    private var waiter: CheckedContinuation<ProcessExit?, Never>?
    /// Whether another command of the same handler may have written to the output of this one.
    var sharedOutput = false
    /// The process, from its start until its end.
    var process: RunningCommand?
    /// Whether the process has ended.
    var hasEnded = false

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

/// The process of a command.
struct RunningCommand: Hashable {
    let pid: pid_t
    /// The time of the start, in seconds since 1970.
    let since: UInt64
}

/// The running commands of one handler, which write to the same output.
///
/// A line of the output may be a secret of another sender's URL, so no sender gets a line from a time with several commands.
final class CommandWriters {
    private var count = 0
    private var processes: [RunningCommand] = []
    /// Whether two commands have run at once since there was none.
    private(set) var haveOverlapped = false

    func add() {
        count += 1
        if count > 1 { haveOverlapped = true }
    }

    /// The command that has started last; nil while no process runs.
    var latest: RunningCommand? { processes.last }

    /// Notes the process of a command that was added.
    func started(_ command: StartingCommand, _ pid: pid_t) {
        // The process may have ended before its start was reported.
        guard !command.hasEnded else { return }
        let process = RunningCommand(pid: pid, since: UInt64(time(nil)))
        command.process = process
        processes.append(process)
    }

    /// Returns whether no command is left.
    func remove(_ command: StartingCommand) -> Bool {
        command.hasEnded = true
        processes.removeAll { $0 == command.process }
        count -= 1
        return count == 0
    }
}
