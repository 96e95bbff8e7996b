internal import CLinux
internal import Glibc
internal import Logging
internal import Reactor
internal import SystemPackage

/// Where standard output and error of the processes that the router starts go: to journald, or else to the router's log.
struct HandlerOutput: Sendable {
    let loop: EventLoop
    let log: Logger
    /// The socket on which journald takes lines (systemd-journald.service(8)).
    var journal = "/run/systemd/journal/stdout"
    /// How much of what is written goes to the log.
    var limits = OutputReader.Limits()

    /// Opens what a process writes to. Call it on the loop's thread.
    ///
    /// - Parameter id: what the lines are marked with.
    /// - Returns: a descriptor, which is the caller's to close once the process has it.
    func open(for id: String) throws(Errno) -> CInt {
        if let stream = connectToJournal(as: id) { return stream }
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw Errno(rawValue: errno) }
        // The router's end alone: who writes waits while the pipe is full.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        OutputReader.start(ends[0], of: id, self)
        return ends[1]
    }

    /// Connects to journald without waiting; nil where there is none, or where it is too busy to take one more stream.
    private func connectToJournal(as id: String) -> CInt? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard journal.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: journal.utf8) }

        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let stream = socket(AF_UNIX, CInt(type), 0)
        guard stream >= 0 else { return nil }
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(stream, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        let header = Self.header(id)
        // The buffer of a new socket takes all of the header. The process then waits as it would in a service of systemd's.
        guard isConnected, shutdown(stream, CInt(SHUT_RD)) == 0,
            send(stream, header, header.count, CInt(MSG_NOSIGNAL)) == header.count,
            fcntl(stream, F_SETFL, 0) == 0
        else {
            close(stream)
            return nil
        }
        return stream
    }

    /// What a stream begins with, as sd_journal_stream_fd(3) sends it: the identifier; no unit, which journald finds out
    /// itself; priority 6 (informational) for lines that do not begin with another one as in `<3>`; that they may; no
    /// forwarding to syslog, to the kernel's log or to the console.
    private static func header(_ id: String) -> [UInt8] {
        // journald takes a line of the header for two when it has more than 254 bytes.
        Array(id.utf8.prefix(254)) + Array("\n\n6\n1\n0\n0\n0\n".utf8)
    }
}
