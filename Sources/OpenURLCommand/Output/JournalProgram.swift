internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Translations
internal import URLOpener

/// `journalctl`, which reads a handler's lines from the user's journal.
struct JournalProgram {
    private let identifier: String
    private let arguments: [String]

    /// - Parameters:
    ///   - identifier: the lines' identifier.
    ///   - count: the number of lines at the end; nil for journalctl's default.
    ///   - follows: whether to wait for further lines.
    init(_ identifier: String, last count: Int?, follows: Bool = false) {
        self.identifier = identifier
        let lines = count.map { ["--lines=\($0)"] } ?? []
        arguments =
            ["journalctl", "--user", "--quiet", "--no-pager", "--output=cat"] + lines + (follows ? ["--follow"] : [])
            + ["--identifier=\(identifier)"]
    }

    /// Passes on the lines until the program exits.
    ///
    /// - Parameters:
    ///   - isSilent: whether the program's own messages are discarded.
    ///   - body: gets the bytes in pieces, and returns whether to continue.
    func run(isSilent: Bool = false, _ body: (ArraySlice<UInt8>) -> Bool) throws(CommandFailure) {
        let (pid, descriptor) = try start(isSilent: isSilent)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var isWanted = true
        while isWanted {
            let count = read(descriptor, &buffer, buffer.count)
            if count > 0 { isWanted = body(buffer[..<count]) } else if count == 0 || errno != EINTR { break }
        }
        close(descriptor)
        if !isWanted { kill(pid, SIGTERM) }
        var word: CInt = 0
        while waitpid(pid, &word, 0) < 0, errno == EINTR {}
        guard isWanted, word != 0 else { return }
        throw failure(
            word & 0x7F == 0
                ? translated("journalctl exited with status \(word >> 8 & 0xFF)")
                : translated("journalctl was ended by signal \(word & 0x7F)")
        )
    }

    private func start(isSilent: Bool) throws(CommandFailure) -> (pid: pid_t, descriptor: CInt) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw failure(translated("cannot create a pipe: \(systemErrorText(errno))")) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        if isSilent { posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) }
        var words = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, "journalctl", &actions, nil, &words, environ)
        guard code == 0 else {
            close(ends[0])
            throw failure(translated("journalctl cannot be started: \(systemErrorText(code))"))
        }
        return (pid, ends[0])
    }

    private func failure(_ reason: String) -> CommandFailure {
        let message = translated(
            "\(reason); the output is in the journal, and 'journalctl --user -t \(identifier)' shows it"
        )
        return CommandFailure(.failed, message, exitStatus: ExitStatus.failure)
    }
}
