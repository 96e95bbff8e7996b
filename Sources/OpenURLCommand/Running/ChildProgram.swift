internal import Glibc
internal import OpenURLBus

/// The program that `openurl run` has started, in the same group of processes, so that the terminal reaches it.
final class ChildProgram {
    private let pid: pid_t
    /// The exit status, and 128 and the signal after a signal, as in a shell; nil while the program runs.
    private(set) var status: Int32?

    /// Starts a program, which is looked up on `PATH` if its name has no slash.
    ///
    /// - Parameter command: the program and its arguments, never empty.
    init(_ command: [CommandLineArgument]) throws(CommandFailure) {
        var words: [UnsafeMutablePointer<CChar>?] = command.map { word in
            strdup(word.bytes.map(CChar.init(bitPattern:)) + [0])
        }
        defer { for word in words { free(word) } }
        guard let program = words[0] else {
            throw CommandFailure(OpenURLError(.launchFailed, "there is no memory for the command"))
        }
        words.append(nil)
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, program, nil, nil, words, environ)
        guard code == 0 else {
            let reason = String(cString: strerror(code))
            throw CommandFailure(OpenURLError(.launchFailed, "\(command[0].shown) cannot be started: \(reason)"))
        }
        self.pid = pid
    }

    /// Takes a signal of this process into account: notes the end of the program, or passes the signal on.
    func handle(_ signal: CInt) {
        guard signal == SIGCHLD else {
            // The number is the program's until its exit status has been taken.
            if status == nil, ProgramSignals.passedOn.contains(signal) { kill(pid, signal) }
            return
        }
        var word: CInt = 0
        guard status == nil, waitpid(pid, &word, WNOHANG) == pid else { return }
        let endSignal = word & 0x7F
        status = endSignal == 0 ? word >> 8 & 0xFF : 128 + endSignal
    }
}
