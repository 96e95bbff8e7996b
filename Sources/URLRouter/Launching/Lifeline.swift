internal import CLinux
internal import DBus
internal import Glibc
internal import SystemPackage

/// A pipe that ties a stopped process to its router: the kernel continues the process when the router's end is closed.
struct Lifeline {
    let routerEnd: UnixFD
    let handlerEnd: UnixFD

    init() throws(Errno) {
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw Errno(rawValue: errno) }
        handlerEnd = UnixFD(owning: ends[0])
        routerEnd = UnixFD(owning: ends[1])
    }
}
