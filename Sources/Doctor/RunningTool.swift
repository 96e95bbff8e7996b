internal import Glibc

/// One of the desktop's programs whose output is read, such as `xdg-mime`.
final class RunningTool {
    /// Becomes readable when there is output, or when the program and its children have exited.
    let descriptor: CInt
    private(set) var output: [UInt8] = []
    private(set) var isAtEnd = false
    private let pid: pid_t
    private var isWaitedFor = false

    /// The maximum number of bytes of output that are kept.
    private static let limit = 1 << 16

    /// Starts a program.
    ///
    /// - Parameter arguments: the path of the program, and its arguments.
    /// - Returns: nil if the program cannot be started.
    init?(_ arguments: [String], environment: [String: String]) {
        var ends: [CInt] = [-1, -1]
        guard let program = arguments.first, pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
        // The program leads a group of processes, so that its children can be ended with it.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in words + variables { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, program, &actions, &attributes, &words, &variables)
        close(ends[1])
        guard result == 0 else {
            close(ends[0])
            return nil
        }
        self.pid = pid
        descriptor = ends[0]
    }

    deinit {
        close(descriptor)
        if !isWaitedFor { _ = end() }
    }

    /// Reads what is available, and waits if there is nothing.
    func read() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        if count < 0, errno == EINTR { return }
        isAtEnd = count <= 0
        output += bytes.prefix(max(min(count, Self.limit - output.count), 0))
    }

    /// Ends the program if it is still running, and returns its exit status; nil if a signal ended it.
    ///
    /// - Parameter children: whether to end the programs that it has started, too.
    func end(with children: Bool = false) -> Int32? {
        isWaitedFor = true
        if !isAtEnd { kill(children ? -pid : pid, SIGKILL) }
        var status: CInt = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    /// The output's last line that is not empty.
    var lastLine: String? {
        String(decoding: output, as: UTF8.self).split(whereSeparator: \.isNewline).last.map(String.init)
    }

    /// The result of running a program until it exits.
    enum Result: Hashable {
        case output(String)
        /// The program cannot be started, or has failed.
        case failed
        /// The program took longer than ``timeLimit``, and was ended with its children.
        case hung
    }

    /// How long a program may take.
    static let timeLimit = Duration.seconds(5)

    /// Runs a program until it exits.
    static func run(_ arguments: [String], environment: [String: String]) -> Result {
        guard let tool = RunningTool(arguments, environment: environment) else { return .failed }
        let deadline = ContinuousClock.now + timeLimit
        while !tool.isAtEnd {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { break }
            var watched = pollfd(fd: tool.descriptor, events: Int16(POLLIN), revents: 0)
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
            if poll(&watched, 1, CInt(clamping: milliseconds)) > 0 { tool.read() }
        }
        let isHung = !tool.isAtEnd
        let status = tool.end(with: true)
        if isHung { return .hung }
        return status == 0 ? .output(String(decoding: tool.output, as: UTF8.self)) : .failed
    }
}
