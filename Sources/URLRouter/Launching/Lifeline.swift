internal import CLinux
internal import DBus
internal import Glibc
internal import SystemPackage

/// A pipe that ties a stopped process to its router: as soon as the router's end is closed, the kernel continues the
/// process.
///
/// Because both processes share the open pipe's state, the router can prepare the handler's end. The handler only has
/// to keep it open.
struct Lifeline {
    let routerEnd: UnixFD
    let handlerEnd: UnixFD
    private let process: pid_t

    init(of process: pid_t) throws(Errno) {
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw Errno(rawValue: errno) }
        self.process = process
        handlerEnd = UnixFD(owning: ends[0])
        routerEnd = UnixFD(owning: ends[1])
        guard signal_process(process, SIGCONT, ends[0]) == 0 else { throw Errno(rawValue: errno) }
    }

    /// Closes the router's copy of the handler's end.
    ///
    /// - Returns: whether the kernel will continue the process. The handler may have closed its end, or changed its
    ///   state.
    func leave() -> Bool {
        guard let end = handlerEnd.take() else { return false }
        let isPrepared = signals_process(process, SIGCONT, end) == 1
        close(end)
        // The write end reports an error as soon as no process has a read end.
        var writing = pollfd(fd: routerEnd.rawValue, events: 0, revents: 0)
        return isPrepared && poll(&writing, 1, 0) == 0
    }
}
