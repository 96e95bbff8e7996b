internal import CLinux
internal import Glibc
public import SystemPackage

/// The way in which a process ended.
public enum ProcessExit: Sendable, Hashable, CustomStringConvertible {
    /// It returned from `main` or called `exit`.
    case exited(status: CInt)
    /// A signal ended it.
    case signalled(CInt)
    /// It ended, but only its parent learns how, and the parent did not tell this process.
    case unknown

    /// The end in words, such as `exited with status 3` or `was ended by signal 9 (Killed)`.
    public var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .signalled(let signal): "was ended by signal \(Self.text(ofSignal: signal))"
        case .unknown: "ended"
        }
    }

    /// Returns a signal's number with its name in words, such as `9 (Killed)`.
    package static func text(ofSignal signal: CInt) -> String {
        "\(signal)" + (strsignal(signal).map { " (\(String(cString: $0)))" } ?? "")
    }
}

/// A process that is watched through a pidfd.
///
/// Because a pidfd always stands for the same process, signals reach only that process, even if the kernel reuses its
/// number. The process's end is noticed at once.
///
/// Use a handle only on the loop's thread.
public final class ProcessHandle {
    /// The process's number.
    ///
    /// When the process is gone, another process may get the number. So the kernel's answer to a question about the number is
    /// about this process only if the process still exists afterwards, which ``session`` checks.
    public let pid: CInt
    /// The way in which the process ended; nil while it is running.
    public private(set) var exit: ProcessExit?
    /// The pidfd; -1 if the process had ended before.
    private let descriptor: CInt
    private let source: ExitSource
    /// The caller's closure; nil once it has been called or is no longer needed. Otherwise a handle and a closure that
    /// holds it would keep each other alive.
    private var onExit: ((ProcessExit) -> Void)?
    private var watch: DescriptorWatch?

    /// How the handle learns in which way the process ended.
    private enum ExitSource {
        /// The process is a child, whose exit status this process collects.
        case child
        /// Another process has started it on behalf of this one, and reports its exit. The closure is called when the
        /// kernel says that the process has ended.
        case report(onEnd: () -> Void)
        case none
    }

    /// Whether this process started the watched one, itself or through a service manager.
    public var isOwn: Bool { if case .none = source { false } else { true } }

    /// Watches a process that this one did not start.
    ///
    /// - Parameters:
    ///   - pid: The number of the process.
    ///   - loop: The event loop on whose thread you make this call.
    ///   - onExit: Called once, on the loop's thread, when the process has ended. The exit status is unknown, because
    ///     only a process's parent learns it.
    /// - Throws: `.noSuchProcess` if the process is gone, `.tooManyOpenFiles` if no descriptor is left.
    public convenience init(
        pid: CInt,
        on loop: EventLoop,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(Errno) {
        let descriptor = pidfd_open(pid, 0)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        self.init(pid: pid, descriptor, .none, on: loop, onExit: onExit)
    }

    /// Watches a process that a service manager has started on behalf of this one. The manager is its parent, so only
    /// the manager learns how the process ends: pass that on with ``report(_:)``.
    ///
    /// - Parameters:
    ///   - pid: The number of the process.
    ///   - descriptor: The process's pidfd, which now belongs to the handle; nil if the process has ended.
    ///   - loop: The event loop on whose thread you make this call.
    ///   - onEnd: Called, on the loop's thread, when the kernel says that the process has ended, unless its exit has
    ///     been reported by then.
    ///   - onExit: Called once, on the loop's thread, when the exit has been reported.
    public convenience init(
        service pid: CInt,
        _ descriptor: CInt?,
        on loop: EventLoop,
        onEnd: @escaping @Sendable () -> Void,
        onExit: @escaping (ProcessExit) -> Void
    ) {
        self.init(pid: pid, descriptor ?? -1, .report(onEnd: onEnd), on: loop, onExit: onExit)
        if descriptor == nil { loop.execute(onEnd) }
    }

    private init(
        pid: CInt,
        _ descriptor: CInt,
        _ source: ExitSource,
        on loop: EventLoop,
        onExit: @escaping (ProcessExit) -> Void
    ) {
        self.pid = pid
        self.descriptor = descriptor
        self.source = source
        self.onExit = onExit
        guard descriptor >= 0 else { return }
        // This closure keeps the handle alive until the process has ended. Otherwise a child would stay a zombie,
        // because its exit status would not be collected.
        watch = loop.watch(descriptor, for: .readable) { _ in self.collect() }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Sends a signal. Does nothing if the process has ended.
    public func send(signal: CInt) {
        if exit == nil, descriptor >= 0 { _ = pidfd_send_signal(descriptor, signal, nil, 0) }
    }

    /// The number of the process's session, as the kernel has it now; nil if the process is gone.
    public var session: CInt? {
        let session = getsid(pid)
        // If the process no longer exists, the answer may be about another one. `EPERM` means that it exists.
        guard descriptor >= 0, pidfd_send_signal(descriptor, 0, nil, 0) == 0 || errno == EPERM else { return nil }
        return session
    }

    /// Ends the process at once. In C, this is `SIGKILL`.
    public func kill() {
        send(signal: SIGKILL)
    }

    /// Stops watching a process that this one did not start. Its own processes are watched until they have ended.
    public func release() {
        if !isOwn { endWatch() }
    }

    /// Takes the exit of a process that a service manager has started; see ``init(service:_:on:onEnd:onExit:)``.
    /// Later reports change nothing.
    public func report(_ exit: ProcessExit) {
        guard case .report = source, self.exit == nil else { return }
        end(exit)
    }

    private func endWatch() {
        watch?.cancel()
        watch = nil
        onExit = nil
    }

    private func collect() {
        var exit = ProcessExit.unknown
        switch source {
        case .none: break
        case .report(let onEnd):
            watch?.cancel()
            watch = nil
            return onEnd()
        case .child:
            var info = siginfo_t()
            if waitid(P_PIDFD, id_t(descriptor), &info, WEXITED | WNOHANG) == 0 {
                // The descriptor was ready, but the child has not ended.
                guard info._sifields._sigchld.si_pid != 0 else { return }
                let status = info._sifields._sigchld.si_status
                exit = info.si_code == CLD_EXITED ? .exited(status: status) : .signalled(status)
            }
        // Otherwise `exit` stays unknown: the status has been collected already, because `SIGCHLD` is ignored or a
        // library waits for any child.
        }
        end(exit)
    }

    private func end(_ exit: ProcessExit) {
        self.exit = exit
        let onExit = onExit
        endWatch()
        onExit?(exit)
    }

    /// Starts a program and watches it; see ``start(_:arguments:environment:directory:input:output:errors:)`` and
    /// ``init(child:on:onExit:)``. Call this on the loop's thread.
    public static func spawn(
        _ path: String,
        arguments: [String],
        environment: [String],
        directory: String,
        output: CInt? = nil,
        on loop: EventLoop,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(Errno) -> ProcessHandle {
        let pid = try start(path, arguments: arguments, environment: environment, directory: directory, output: output)
        return try ProcessHandle(child: pid, on: loop, onExit: onExit)
    }

    /// Starts a program in a new session. Returns when the program's file has been loaded, which can take any length of
    /// time if its file system is not responding. You may call this on any thread.
    ///
    /// No shell is involved. The program gets only the descriptors 0, 1 and 2. No signal is blocked, all signals have their
    /// default actions, and the environment is the one given.
    ///
    /// There is one exception, for a program with an `output`: because the reader of `output` may end first, `SIGPIPE`
    /// stays ignored if this process ignores it. A write then fails with `EPIPE` and does not end the program, as in a
    /// service of systemd (`IgnoreSIGPIPE=` in systemd.exec(5)).
    ///
    /// - Parameters:
    ///   - path: The executable's path. `PATH` is not searched, and a relative path starts at `directory`.
    ///   - arguments: All of `argv`, with the program's name first.
    ///   - environment: The environment variables, each as `NAME=value`.
    ///   - directory: The working directory.
    ///   - input: The descriptor that becomes standard input, and that you still have to close. Nil means that the standard
    ///     input is empty.
    ///   - output: The descriptor that becomes standard output and standard error, and that you still have to close.
    ///     Nil means that the program shares those of this process.
    ///   - errors: The descriptor that becomes standard error instead, with or without an `output`, and that you still have
    ///     to close.
    /// - Returns: The number of the child, for ``init(child:on:onExit:)`` or ``end(child:)``.
    /// - Throws: The reason why the program could not be started, such as `.noSuchFileOrDirectory` or
    ///   `.permissionDenied`.
    ///   - `.invalidArgument` if a string contains a NUL, which would cut it short.
    ///   - `.noChildProcess` if this process ignores `SIGCHLD`, because the kernel then discards the exit statuses of
    ///     children.
    public static func start(
        _ path: String,
        arguments: [String],
        environment: [String],
        directory: String,
        input: CInt? = nil,
        output: CInt? = nil,
        errors: CInt? = nil
    ) throws(Errno) -> CInt {
        let strings = [path, directory] + arguments + environment
        guard !strings.contains(where: { $0.utf8.contains(0) }) else { throw .invalidArgument }
        guard !ignoresEndOfChildren() else { throw .noChildProcess }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var copies: [CInt] = []
        defer { for copy in copies { close(copy) } }
        for (stream, given) in [input, output, errors ?? output].enumerated() {
            guard var source = given else { continue }
            if source <= STDERR_FILENO {
                // An earlier action may replace this descriptor.
                source = fcntl(source, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                guard source >= 0 else { throw Errno(rawValue: errno) }
                copies.append(source)
            }
            posix_spawn_file_actions_adddup2(&actions, source, CInt(stream))
        }
        if input == nil { posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) }
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
        // posix_spawn(3) cannot set limits.
        DescriptorLimit.restore(inChild: pid)
        return pid
    }

    /// Watches a child that ``start(_:arguments:environment:directory:input:output:errors:)`` has started.
    ///
    /// - Parameters:
    ///   - pid: The number of the child.
    ///   - loop: The event loop on whose thread you make this call.
    ///   - onExit: Called once, on the loop's thread, when the program has ended and its exit status has been
    ///     collected.
    /// - Throws: `.noSuchProcess` if the program has ended and another part of this process, which waits for any child,
    ///   has already collected its exit status; `.tooManyOpenFiles` if no descriptor is left. The program has then been
    ///   ended.
    public convenience init(
        child pid: CInt,
        on loop: EventLoop,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(Errno) {
        let descriptor = pidfd_open(pid, 0)
        guard descriptor >= 0 else {
            // Without a pidfd, the child's end would go unnoticed. Its number still belongs to it, because its exit
            // status has not been collected, so killing by number is safe. The exception is `.noSuchProcess`: another
            // part of this process has then collected the child, and the number may already belong to another process.
            let error = Errno(rawValue: errno)
            if error != .noSuchProcess { Self.end(child: pid) }
            throw error
        }
        self.init(pid: pid, descriptor, .child, on: loop, onExit: onExit)
    }

    /// Ends a child that is not watched, and collects its exit status.
    public static func end(child pid: CInt) {
        Glibc.kill(pid, SIGKILL)
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
    }
}

/// Returns whether the exit statuses of children are lost, because `SIGCHLD` is ignored or its action has the flag
/// `SA_NOCLDWAIT`.
private func ignoresEndOfChildren() -> Bool {
    var action = sigaction()
    guard sigaction(SIGCHLD, nil, &action) == 0 else { return false }
    // `SIG_IGN` of C is a function pointer with the value 1.
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
        || action.sa_flags & SA_NOCLDWAIT != 0
}
