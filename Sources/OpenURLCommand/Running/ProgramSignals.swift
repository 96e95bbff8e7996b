internal import CLinux
internal import Glibc
internal import OpenURLBus
internal import Synchronization
internal import Translations
internal import URLOpener

/// The signals to a process that waits for a program: those that report the program's exit, and those that ask the
/// program to exit.
///
/// The signal handler writes into a pipe. On Ctrl-C, this process only has to survive, because the terminal sends the
/// signal to the program as well.
final class ProgramSignals {
    /// Readable after a signal.
    let descriptor: CInt

    /// The first SIGINT, SIGTERM or SIGHUP so far; nil if there has been none.
    private(set) var ending: CInt?

    /// Signals that reach the program only through this process.
    static let passedOn: Set<CInt> = [SIGTERM, SIGHUP]

    /// Takes over the signals until the process exits, except those that are ignored.
    init() throws(CommandFailure) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else {
            let reason = systemErrorText(errno)
            throw CommandFailure(OpenURLError(.launchFailed, translated("cannot create a pipe for signals: \(reason)")))
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A signal handler must not wait for room in the pipe.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        descriptor = ends[0]
        signalPipe.store(ends[1], ordering: .relaxed)
        var taken = sigset_t()
        sigemptyset(&taken)
        for signal in [SIGCHLD, SIGINT, SIGQUIT] + Self.passedOn {
            var action = sigaction()
            sigaction(signal, nil, &action)
            let isIgnored = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == Self.ignored
            guard signal == SIGCHLD || !isIgnored else { continue }
            action = sigaction()
            action.__sigaction_handler.sa_handler = noteSignal
            sigaction(signal, &action, nil)
            sigaddset(&taken, signal)
        }
        // If a library's thread started this program, the program inherited that thread's mask, which often blocks all
        // signals.
        sigprocmask(SIG_UNBLOCK, &taken, nil)
    }

    /// The value of `SIG_IGN`.
    private static let ignored = 1

    /// Waits for a signal, and returns it.
    func take() -> CInt {
        var byte: UInt8 = 0
        while read(descriptor, &byte, 1) != 1 {}
        let signal = CInt(byte)
        if ending == nil, signal == SIGINT || Self.passedOn.contains(signal) { ending = signal }
        return signal
    }
}

/// The write end of the signal handler's pipe.
private let signalPipe = Atomic<CInt>(-1)

private let noteSignal: @convention(c) (CInt) -> Void = { signal in
    // The interrupted code may be about to read the `errno` of its own call.
    let interrupted = errno
    var byte = UInt8(truncatingIfNeeded: signal)
    _ = write(signalPipe.load(ordering: .relaxed), &byte, 1)
    errno = interrupted
}
