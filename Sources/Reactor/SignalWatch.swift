internal import CLinux
internal import Glibc
public import SystemPackage

/// Signals of the process as events of a loop.
///
/// A blocked signal is kept by the kernel until it is read here, so none is lost and no handler runs in the middle of
/// other code. Threads inherit what is blocked, so ``block(_:)`` comes first in a program, before any other thread.
public enum SignalWatch {
    /// Blocks signals in this thread and every thread that it starts from now on.
    public static func block(_ signals: [CInt]) {
        var set = set(signals)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Calls `handler` on the loop's thread for each of the signals that arrives. Call it on the loop's thread.
    ///
    /// The watch lasts as long as the process.
    ///
    /// - Throws: what `signalfd(2)` answers when the process has no descriptor left.
    public static func start(_ signals: [CInt], on loop: EventLoop, _ handler: @escaping (CInt) -> Void) throws(Errno) {
        var set = set(signals)
        let descriptor = signalfd(-1, &set, CInt(SFD_CLOEXEC | SFD_NONBLOCK))
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        _ = loop.watch(descriptor, for: .readable) { _ in
            var info = signalfd_siginfo()
            while read(descriptor, &info, MemoryLayout.size(ofValue: info)) == MemoryLayout.size(ofValue: info) {
                handler(CInt(bitPattern: info.ssi_signo))
            }
        }
    }

    private static func set(_ signals: [CInt]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }
}
