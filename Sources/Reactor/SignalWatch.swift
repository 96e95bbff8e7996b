internal import CLinux
internal import Glibc
internal import Synchronization
public import SystemPackage

/// Delivers signals to the process as events of a loop.
///
/// A signal handler may call only a few functions, so it writes the signal's number into a pipe, which the loop reads.
/// This works no matter which thread receives the signal. For `signalfd(2)`, all threads would have to block the
/// signals, but the main thread of a Swift program with `async` code eventually unblocks all of them.
public enum SignalWatch {
    /// Calls `handler` on the loop's thread for each of the signals that arrives, until the process ends.
    ///
    /// Call this on the loop's thread, and only once in a process.
    ///
    /// - Throws: The error from `pipe2(2)` if the process has no descriptor left; `.alreadyInProcess` for a second
    ///   call.
    public static func start(_ signals: [CInt], on loop: EventLoop, _ handler: @escaping (CInt) -> Void) throws(Errno) {
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0 else { throw Errno(rawValue: errno) }
        let readingEnd = ends[0]
        guard writingEnd.compareExchange(expected: -1, desired: ends[1], ordering: .relaxed).exchanged else {
            for end in ends { close(end) }
            throw .alreadyInProcess
        }
        _ = loop.watch(readingEnd, for: .readable) { _ in
            var signal: UInt8 = 0
            while read(readingEnd, &signal, 1) == 1 { handler(CInt(signal)) }
        }
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals {
            sigaddset(&set, signal)
            var action = sigaction()
            action.__sigaction_handler.sa_handler = passOn
            action.sa_flags = SA_RESTART
            sigaction(signal, &action, nil)
        }
        // A process inherits blocked signals from the one that started it, and these may be among them. It is enough
        // for one thread to receive them, and the main thread leaves them to the loop's own thread.
        if !loop.isTurnedByMainThread { pthread_sigmask(SIG_UNBLOCK, &set, nil) }
    }
}

/// The write end of the signal handler's pipe; -1 until ``SignalWatch/start(_:on:_:)``.
private let writingEnd = Atomic<CInt>(-1)

private let passOn: @convention(c) (CInt) -> Void = { signal in
    // The interrupted code may be about to read the `errno` of its own call.
    let interrupted = errno
    var byte = UInt8(truncatingIfNeeded: signal)
    _ = write(writingEnd.load(ordering: .relaxed), &byte, 1)
    errno = interrupted
}
