internal import CLinux
internal import Glibc
internal import Synchronization
public import SystemPackage

/// Signals of the process as events of a loop.
///
/// A signal's handler may do next to nothing, so it writes the signal's number into a pipe that the loop reads. That works
/// whichever thread the system picks for the signal: the main thread of a Swift program with `async` code lets all signals
/// through in the end, whatever it was told to block.
public enum SignalWatch {
    /// Calls `handler` on the loop's thread for each of the signals that arrives, as long as the process lives. Call it on
    /// the loop's thread, once in a process.
    ///
    /// - Throws: what `pipe2(2)` answers when the process has no descriptor left; `.alreadyInProcess` the second time.
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
        // Whoever started the process may have had them blocked, which is inherited. One thread that takes them is enough.
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}

/// Where the signals go; -1 until somebody watches.
private let writingEnd = Atomic<CInt>(-1)

private let passOn: @convention(c) (CInt) -> Void = { signal in
    // The code that was interrupted may be about to look at the error of a call of its own.
    let interrupted = errno
    var byte = UInt8(truncatingIfNeeded: signal)
    _ = write(writingEnd.load(ordering: .relaxed), &byte, 1)
    errno = interrupted
}
