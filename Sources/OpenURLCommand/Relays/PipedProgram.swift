internal import CLinux
internal import Glibc
internal import OpenURLBus
internal import Translations
internal import URLOpener

/// A child process, whose standard input and output are pipes to this process.
final class PipedProgram {
    private let pid: pid_t
    private let input: CInt
    private let output: CInt
    private var bytes: [UInt8] = []
    private var hasEnded = false
    /// The exit status; nil before ``end(within:)``.
    private var status: Int32?

    /// How long the program may take to end after a signal, in milliseconds.
    private static let lastTime: CInt = 2000
    /// Maximum number of bytes that are read in search of a line.
    private static let limit = 1 << 16

    /// Starts a program. A name without a slash is looked up on `PATH`.
    ///
    /// - Parameters:
    ///   - inNewSession: whether the program outlives the terminal, gets none of its signals, and has `/` as its
    ///     working directory.
    ///   - takesErrors: whether standard error leads to the same pipe as standard output.
    init(_ program: String, _ arguments: [String], inNewSession: Bool = false, takesErrors: Bool = false)
        throws(CommandFailure)
    {
        var (inner, outer): ([CInt], [CInt]) = ([-1, -1], [-1, -1])
        guard pipe2(&inner, O_CLOEXEC) == 0, pipe2(&outer, O_CLOEXEC) == 0 else {
            for end in inner + outer where end >= 0 { close(end) }
            throw Self.failure(program, errno)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, inner[0], 0)
        posix_spawn_file_actions_adddup2(&actions, outer[1], 1)
        if takesErrors { posix_spawn_file_actions_adddup2(&actions, outer[1], 2) }
        // A program that outlives this process must keep neither the files of others open nor a file system mounted.
        if inNewSession {
            posix_spawn_file_actions_addclosefrom_np(&actions, 3)
            posix_spawn_file_actions_addchdir_np(&actions, "/")
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, inNewSession ? CShort(SPAWN_SETSID) : 0)
        var words = arguments.map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, program, &actions, &attributes, words, environ)
        close(inner[0])
        close(outer[1])
        guard code == 0 else {
            close(inner[1])
            close(outer[0])
            throw Self.failure(program, code)
        }
        (self.pid, input, output) = (pid, inner[1], outer[0])
    }

    private static func failure(_ program: String, _ code: CInt) -> CommandFailure {
        let reason = systemErrorText(code)
        return CommandFailure(OpenURLError(.launchFailed, translated("\(program) cannot be started: \(reason)")))
    }

    /// Writes bytes to the program's input.
    ///
    /// - Parameters:
    ///   - time: how long the program may take no bytes, in milliseconds.
    ///   - signals: the wait also ends with a signal that asks this process to exit.
    /// - Returns: whether the program has taken all bytes.
    func write(_ bytes: [UInt8], within time: CInt, watching signals: ProgramSignals) -> Bool {
        // Otherwise, a signal would wait as long as the program takes nothing.
        _ = fcntl(input, F_SETFL, O_NONBLOCK)
        var rest = bytes[...]
        while !rest.isEmpty {
            var ready = [
                pollfd(fd: input, events: Int16(POLLOUT), revents: 0),
                pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&ready, nfds_t(ready.count), time)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            if ready[1].revents != 0 {
                _ = signals.take()
                if signals.ending != nil { return false }
                continue
            }
            let size = rest.withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
            if size < 0, errno == EINTR || errno == EAGAIN { continue }
            guard size > 0 else { return false }
            rest = rest.dropFirst(size)
        }
        return true
    }

    /// Reads a line of the program's output, without its end.
    ///
    /// - Parameters:
    ///   - time: the time limit in milliseconds; -1 for none, if a person may have to answer the program first.
    ///   - signals: the wait also ends with a signal that asks this process to exit.
    /// - Returns: nil at the end of the output, after the time limit or such a signal, or if the line is too long.
    func readLine(within time: CInt, watching signals: ProgramSignals? = nil) -> String? {
        while true {
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                defer { bytes.removeSubrange(...end) }
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            // A negative descriptor is not watched.
            var ready = [output, signals?.descriptor ?? -1].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let count = poll(&ready, nfds_t(ready.count), time)
            if count < 0, errno == EINTR { continue }
            if let signals, ready[1].revents != 0 {
                _ = signals.take()
                if signals.ending != nil { return nil }
                continue
            }
            guard count > 0, bytes.count < Self.limit else { return nil }
            var chunk = [UInt8](repeating: 0, count: 4096)
            let size = read(output, &chunk, chunk.count)
            if size < 0, errno == EINTR { continue }
            guard size > 0 else { return nil }
            bytes += chunk[..<size]
        }
    }

    /// Closes the program's input, and waits for its end. A program that does not end in time is ended.
    ///
    /// - Parameter time: the time limit in milliseconds.
    /// - Returns: the exit status, or 128 and the signal that ended the program.
    @discardableResult
    func end(within time: CInt) -> Int32 {
        release()
        // The number may belong to another process by now.
        if let status { return status }
        let descriptor = pidfd_open(pid, 0)
        defer { if descriptor >= 0 { close(descriptor) } }
        if !Self.hasExited(descriptor, within: time) {
            kill(pid, SIGTERM)
            if !Self.hasExited(descriptor, within: Self.lastTime) {
                kill(pid, SIGKILL)
                _ = Self.hasExited(descriptor, within: Self.lastTime)
            }
        }
        // A program that waits for a file system outlives even SIGKILL, and this process must not wait with it.
        var word: CInt = SIGKILL
        waitpid(pid, &word, WNOHANG)
        let signal = word & 0x7F
        let ended = signal == 0 ? word >> 8 & 0xFF : 128 + signal
        status = ended
        return ended
    }

    /// Waits for the end of a process.
    ///
    /// - Parameters:
    ///   - descriptor: the process's pidfd.
    ///   - time: the time limit in milliseconds.
    /// - Returns: whether the process has ended.
    private static func hasExited(_ descriptor: CInt, within time: CInt) -> Bool {
        let deadline = ContinuousClock.now + .milliseconds(time)
        while true {
            let left: Duration = max(.zero, deadline - .now)
            var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = poll(&end, 1, CInt(clamping: Int64(left / .milliseconds(1))))
            if count >= 0 || errno != EINTR { return count > 0 }
        }
    }

    /// Closes both pipes. The program continues.
    func release() {
        guard !hasEnded else { return }
        hasEnded = true
        close(input)
        close(output)
    }
}
