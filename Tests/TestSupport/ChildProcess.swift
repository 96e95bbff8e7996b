internal import CLinux
public import Foundation
internal import Glibc
internal import Reactor

/// A program that a test runs, with the interface of Foundation's `Process`.
///
/// Foundation learns of a program's end from a socket that the program inherits. Another program that is started at the same
/// moment may inherit it too, and a program may close it early. An end that is missed also stops all exit tests, because they
/// wait for any child of this process and see only the one that has not been waited for. Here, a thread waits for each program.
///
/// Set the properties before ``run()``.
public final class ChildProcess: Sendable {
    /// A standard stream of a program: a file or a pipe.
    public protocol Stream: Sendable {}

    private struct Settings {
        var executableURL: URL?
        var arguments: [String] = []
        var environment: [String: String]?
        var currentDirectoryURL: URL?
        var streams: [(any Stream)?] = [nil, nil, nil]
    }

    private struct Run {
        var processIdentifier: CInt = 0
        /// The status from waitpid(2); nil while the program runs.
        var word: CInt?
        var terminationHandler: (@Sendable (ChildProcess) -> Void)?
    }

    private let settings = Lock(Settings())
    private let state = Lock(Run())
    /// Entered while the program runs.
    private let running = DispatchGroup()

    /// Creates a program that is not running yet.
    public init() {}

    /// The path of the program; `PATH` is not searched.
    public var executableURL: URL? {
        get { settings.withLock { $0.executableURL } }
        set { settings.withLock { $0.executableURL = newValue } }
    }

    /// The arguments, without the program's name.
    public var arguments: [String] {
        get { settings.withLock { $0.arguments } }
        set { settings.withLock { $0.arguments = newValue } }
    }

    /// Nil means the environment of the test.
    public var environment: [String: String]? {
        get { settings.withLock { $0.environment } }
        set { settings.withLock { $0.environment = newValue } }
    }

    /// Nil means the directory of the test.
    public var currentDirectoryURL: URL? {
        get { settings.withLock { $0.currentDirectoryURL } }
        set { settings.withLock { $0.currentDirectoryURL = newValue } }
    }

    /// Where the program reads; nil for the stream of the test.
    public var standardInput: (any Stream)? {
        get { settings.withLock { $0.streams[0] } }
        set { settings.withLock { $0.streams[0] = newValue } }
    }

    /// Where the program writes; nil for the stream of the test.
    public var standardOutput: (any Stream)? {
        get { settings.withLock { $0.streams[1] } }
        set { settings.withLock { $0.streams[1] = newValue } }
    }

    /// Where the program writes errors; nil for the stream of the test.
    public var standardError: (any Stream)? {
        get { settings.withLock { $0.streams[2] } }
        set { settings.withLock { $0.streams[2] = newValue } }
    }

    /// Called once, on another thread, when the program has ended; at once if it already has.
    public var terminationHandler: (@Sendable (ChildProcess) -> Void)? {
        get { state.withLock { $0.terminationHandler } }
        set {
            let hasEnded = state.withLock { state in
                state.terminationHandler = newValue
                return state.word != nil
            }
            if hasEnded { newValue?(self) }
        }
    }

    /// The number of the program, from ``run()`` on.
    public var processIdentifier: CInt { state.withLock { $0.processIdentifier } }
    /// Whether the program has been started and has not ended.
    public var isRunning: Bool { state.withLock { $0.processIdentifier != 0 && $0.word == nil } }

    /// The exit status, or the number of the signal that ended the program. It must have ended.
    public var terminationStatus: Int32 {
        guard let word = state.withLock({ $0.word }) else { preconditionFailure("the program has not ended") }
        return word & 0x7F == 0 ? word >> 8 & 0xFF : word & 0x7F
    }

    /// Whether ``terminationStatus`` is an exit status or a signal. The program must have ended.
    public var terminationReason: Process.TerminationReason {
        guard let word = state.withLock({ $0.word }) else { preconditionFailure("the program has not ended") }
        return word & 0x7F == 0 ? .exit : .uncaughtSignal
    }

    /// Runs a program with the streams of the test.
    public static func run(_ program: URL, arguments: [String]) throws -> ChildProcess {
        let process = ChildProcess()
        process.executableURL = program
        process.arguments = arguments
        try process.run()
        return process
    }

    /// Starts the program, in a process group of its own and without blocked signals. It inherits no other descriptors.
    public func run() throws {
        let settings = settings.withLock { $0 }
        guard let path = settings.executableURL?.path else { throw CocoaError(.fileNoSuchFile) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Copies, because a descriptor that becomes one of the three may itself be one of them.
        var copies: [CInt] = []
        defer { for copy in copies { close(copy) } }
        for (number, stream) in zip((0 as CInt)..., settings.streams) {
            guard let stream else { continue }
            let copy = stream.copy(forInput: number == 0)
            guard copy >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EBADF) }
            copies.append(copy)
            posix_spawn_file_actions_adddup2(&actions, copy, number)
        }
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        if let directory = settings.currentDirectoryURL {
            posix_spawn_file_actions_addchdir_np(&actions, directory.path)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of the tests block signals.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, CShort(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))

        let variables = (settings.environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" }
        var words = ([path] + settings.arguments).map { strdup($0) }
        var environment = variables.map { strdup($0) }
        defer { for string in words + environment { free(string) } }
        words.append(nil)
        environment.append(nil)
        var pid: pid_t = 0
        let code = posix_spawn(&pid, path, &actions, &attributes, words, environment)
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .ENOENT) }

        state.withLock { $0.processIdentifier = pid }
        running.enter()
        for case let pipe as Pipe in settings.streams.dropFirst() { pipe.fileHandleForWriting.closeFile() }
        if let pipe = settings.streams[0] as? Pipe { pipe.fileHandleForReading.closeFile() }
        Thread.detachNewThread { [self, number = pid] in
            var information = siginfo_t()
            while waitid(P_PID, id_t(number), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            let handler = state.withLock { state in
                // From here on, the number may belong to another process.
                var word: CInt = 0
                precondition(waitpid(number, &word, 0) == number, "another thread has waited for the program")
                state.word = word
                return state.terminationHandler
            }
            running.leave()
            handler?(self)
        }
    }

    /// Returns when the program has ended. The thread waits meanwhile.
    public func waitUntilExit() {
        running.wait()
    }

    /// Sends `SIGTERM`, if the program runs.
    public func terminate() {
        state.withLock { state in
            if state.processIdentifier != 0, state.word == nil { _ = kill(state.processIdentifier, SIGTERM) }
        }
    }
}

extension ChildProcess.Stream {
    /// A copy of the program's end; negative if there is none.
    fileprivate func copy(forInput isInput: Bool) -> CInt {
        // This one has no descriptor.
        if self as? FileHandle === FileHandle.nullDevice { return open("/dev/null", O_RDWR | O_CLOEXEC) }
        let handle =
            (self as? Pipe).map { isInput ? $0.fileHandleForReading : $0.fileHandleForWriting } ?? self as? FileHandle
        return handle.map { fcntl($0.fileDescriptor, F_DUPFD_CLOEXEC, 3) } ?? -1
    }
}

extension FileHandle: ChildProcess.Stream {}
extension Pipe: ChildProcess.Stream {}
