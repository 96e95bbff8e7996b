internal import Glibc
internal import OpenURLBus
internal import Processes
internal import Translations
internal import URLOpener

/// The program that `openurl run` has started.
///
/// It is in this process's process group, so that signals from the terminal reach it.
final class ChildProgram {
    let pid: pid_t
    /// The exit status, or 128 and the signal that ended the program, as in a shell; nil while it runs.
    private(set) var status: Int32?

    /// Starts a program. A name without a slash is looked up on `PATH`.
    ///
    /// - Parameter command: the program and its arguments, never empty.
    init(_ command: [CommandLineArgument]) throws(CommandFailure) {
        var words: [UnsafeMutablePointer<CChar>?] = command.map { word in
            strdup(word.bytes.map(CChar.init(bitPattern:)) + [0])
        }
        defer { for word in words { free(word) } }
        guard let program = words[0] else {
            throw CommandFailure(
                OpenURLError(.launchFailed, translated("there is not enough memory to start the program"))
            )
        }
        words.append(nil)
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, program, nil, nil, words, environ)
        guard code == 0 else {
            let reason = systemErrorText(code)
            throw CommandFailure(
                OpenURLError(.launchFailed, translated("\(command[0].shown) cannot be started: \(reason)"))
            )
        }
        self.pid = pid
    }

    /// Returns whether a process is the program, or descends from it.
    func isAncestor(of process: UInt32) -> Bool {
        var next = process
        for _ in 0..<Self.generations {
            if next == pid { return true }
            guard let parent = ProcessIdentity.parent(of: next), parent > 1 else { return false }
            next = parent
        }
        return false
    }

    /// Maximum number of generations to check.
    private static let generations = 64

    /// Handles a signal to this process: notes that the program exited, or passes the signal on.
    func handle(_ signal: CInt) {
        guard signal == SIGCHLD else {
            // The number is still the program's until its exit status has been collected.
            if status == nil, ProgramSignals.passedOn.contains(signal) { kill(pid, signal) }
            return
        }
        var word: CInt = 0
        guard status == nil, waitpid(pid, &word, WNOHANG) == pid else { return }
        let endSignal = word & 0x7F
        status = endSignal == 0 ? word >> 8 & 0xFF : 128 + endSignal
    }
}
