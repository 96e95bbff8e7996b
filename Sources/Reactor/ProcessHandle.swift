internal import CLinux
internal import Glibc
public import SystemPackage

/// How a process ended.
public enum ProcessExit: Sendable, Hashable, CustomStringConvertible {
    /// It returned from `main` or called `exit`.
    case exited(status: CInt)
    /// A signal ended it.
    case signalled(CInt)
    /// It ended, and its parent, which is not this process, knows how.
    case unknown

    /// The end in words: `exited with status 3`, `was ended by signal 9 (Killed)`.
    public var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .signalled(let signal):
            "was ended by signal \(signal)" + (strsignal(signal).map { " (\(String(cString: $0)))" } ?? "")
        case .unknown: "ended"
        }
    }
}

/// A process seen through a pidfd: signals reach it and nothing else, and its end is seen at once.
///
/// All of it belongs to the loop's thread.
public final class ProcessHandle {
    /// The process's number; only for messages, as the kernel gives a number anew when its process is gone.
    public let pid: CInt
    /// How the process ended; nil while it runs.
    public private(set) var exit: ProcessExit?
    private let descriptor: CInt
    /// Whether this process started it, and so collects it.
    public let isChild: Bool
    /// Nil once nobody waits any more, so that a closure that holds its own process keeps neither.
    private var onExit: ((ProcessExit) -> Void)?
    private var watch: DescriptorWatch?

    /// Watches a process.
    ///
    /// - Parameters:
    ///   - pid: a process that this one did not start.
    ///   - loop: on whose thread the call is made.
    ///   - onExit: called once on the loop's thread when it has ended; how is for its parent to know.
    /// - Throws: `.noSuchProcess` when it is gone, `.tooManyOpenFiles` when there is no descriptor left.
    public convenience init(
        pid: CInt,
        on loop: EventLoop,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(Errno) {
        try self.init(pid: pid, isChild: false, on: loop, onExit: onExit)
    }

    private init(
        pid: CInt,
        isChild: Bool,
        on loop: EventLoop,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(Errno) {
        descriptor = pidfd_open(pid, 0)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        self.pid = pid
        self.isChild = isChild
        self.onExit = onExit
        // The handle stays alive until its process has ended: a child that nobody collects would stay a zombie.
        watch = loop.watch(descriptor, for: .readable) { _ in self.collect() }
    }

    deinit {
        close(descriptor)
    }

    /// Sends a signal; a process that has ended ignores it.
    public func send(signal: CInt) {
        if exit == nil { _ = pidfd_send_signal(descriptor, signal, nil, 0) }
    }

    /// Ends the process at once. The corresponding C constant is `SIGKILL`.
    public func kill() {
        send(signal: SIGKILL)
    }

    /// Stops watching a process that this one did not start; a child is watched until it has ended.
    public func release() {
        if !isChild { endWatch() }
    }

    private func endWatch() {
        watch?.cancel()
        watch = nil
        onExit = nil
    }

    private func collect() {
        var exit = ProcessExit.unknown
        if isChild {
            var info = siginfo_t()
            if waitid(P_PIDFD, id_t(descriptor), &info, WEXITED | WNOHANG) == 0 {
                // The descriptor was ready for another reason than the end.
                guard info._sifields._sigchld.si_pid != 0 else { return }
                let status = info._sifields._sigchld.si_status
                exit = info.si_code == CLD_EXITED ? .exited(status: status) : .signalled(status)
            }
            // Otherwise somebody else collected it: SIGCHLD is ignored, or a library waits for any child.
        }
        self.exit = exit
        let onExit = onExit
        endWatch()
        onExit?(exit)
    }

    /// Starts a program in a session of its own, with nothing open but standard input (empty), output and error.
    ///
    /// No shell is involved and nothing is inherited but the descriptors 1 and 2: signals are at their defaults, the
    /// environment is what is given. Call it on the loop's thread.
    ///
    /// With an `output` to somebody else, who may end first, `SIGPIPE` stays ignored where this process ignores it: what is
    /// written then fails with `EPIPE` and does not end the program, as in a service of systemd's (systemd.exec(5),
    /// `IgnoreSIGPIPE=`).
    ///
    /// - Parameters:
    ///   - path: the executable's path; `PATH` is not searched, and a relative one starts at `directory`.
    ///   - arguments: all of `argv`, the program's own name first.
    ///   - environment: `NAME=value` each.
    ///   - directory: the working directory.
    ///   - output: what standard output and error are; it stays the caller's. Nil inherits this process's own.
    ///   - onExit: called once on the loop's thread when the program has ended and was collected.
    /// - Throws: why it could not be started, such as `.noSuchFileOrDirectory` or `.permissionDenied`;
    ///   `.invalidArgument` when a string holds a NUL, which would cut it short; `.noChildProcess` where the process ignores
    ///   `SIGCHLD`, as the kernel then forgets children before anybody sees how they ended; `.noSuchProcess` when it has ended
    ///   and another part of this process, which waits for any child, has collected it already.
    public static func spawn(
        _ path: String,
        arguments: [String],
        environment: [String],
        directory: String,
        output: CInt? = nil,
        on loop: EventLoop,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(Errno) -> ProcessHandle {
        let strings = [path, directory] + arguments + environment
        guard !strings.contains(where: { $0.utf8.contains(0) }) else { throw .invalidArgument }
        guard !ignoresEndOfChildren() else { throw .noChildProcess }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let output {
            // First, as it may be any of the descriptors that are replaced here.
            posix_spawn_file_actions_adddup2(&actions, output, 1)
            posix_spawn_file_actions_adddup2(&actions, output, 2)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        posix_spawn_file_actions_addchdir_np(&actions, directory)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var defaults = sigset_t()
        sigemptyset(&none)
        sigfillset(&defaults)
        if output != nil { sigdelset(&defaults, SIGPIPE) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | CInt(SPAWN_SETSID)
        posix_spawnattr_setflags(&attributes, CShort(flags))

        var argv = arguments.map { strdup($0) }
        var envp = environment.map { strdup($0) }
        defer { for string in argv + envp { free(string) } }
        argv.append(nil)
        envp.append(nil)
        var pid: CInt = 0
        let status = posix_spawn(&pid, path, &actions, &attributes, argv, envp)
        guard status == 0 else { throw Errno(rawValue: status) }
        do throws(Errno) {
            return try ProcessHandle(pid: pid, isChild: true, on: loop, onExit: onExit)
        } catch {
            // Without a pidfd its end would never be seen. It is a child that was not collected, so the number is its own,
            // unless somebody else in this process collects children, and it was gone before it could be looked at.
            if error != .noSuchProcess {
                Glibc.kill(pid, SIGKILL)
                waitpid(pid, nil, 0)
            }
            throw error
        }
    }
}

/// Whether nobody can learn how a child has ended, as `SIGCHLD` is ignored or its action says so.
private func ignoresEndOfChildren() -> Bool {
    var action = sigaction()
    guard sigaction(SIGCHLD, nil, &action) == 0 else { return false }
    // The corresponding C constant, SIG_IGN, is a function pointer with the value 1.
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
        || action.sa_flags & SA_NOCLDWAIT != 0
}
