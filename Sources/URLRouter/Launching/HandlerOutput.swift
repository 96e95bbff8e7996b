internal import CLinux
internal import Glibc
internal import Logging
internal import Reactor
internal import SystemPackage

/// The destination of the standard output and error of started processes: journald, or else the router's log.
struct HandlerOutput: Sendable {
    let loop: EventLoop
    let log: Logger
    /// The socket on which journald accepts lines (systemd-journald.service(8)).
    var journal = "/run/systemd/journal/stdout"
    /// The limits of the output that goes to the router's log.
    var limits = OutputPipeReader.Limits()

    /// Opens a stream for the output of a process. Call it on the loop's thread.
    ///
    /// - Parameter id: the identifier of the lines.
    /// - Returns: a descriptor. The caller closes it once the process has it.
    func open(for id: String) throws(Errno) -> CInt {
        if let stream = connectToJournal(as: id) { return stream }
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw Errno(rawValue: errno) }
        // Only the router's end: a process that writes waits while the pipe is full.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        OutputPipeReader.start(ends[0], of: id, self)
        return ends[1]
    }

    /// Connects to journald without waiting; nil without journald, or if journald is too busy for another stream.
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
        // The buffer of a new socket holds the whole header. Later writes of the process wait as in a systemd service.
        guard isConnected, shutdown(stream, CInt(SHUT_RD)) == 0,
            send(stream, header, header.count, CInt(MSG_NOSIGNAL)) == header.count,
            fcntl(stream, F_SETFL, 0) == 0
        else {
            close(stream)
            return nil
        }
        return stream
    }

    /// The header of a stream, as sd_journal_stream_fd(3) sends it.
    ///
    /// The lines are: the identifier; no unit, because journald finds the unit itself; the default priority 6
    /// (informational); a prefix such as `<3>` may give another priority; no forwarding to syslog, to the kernel's log or to
    /// the console.
    private static func header(_ id: String) -> [UInt8] {
        // journald splits a line of the header that has more than 254 bytes.
        Array(id.utf8.prefix(254)) + Array("\n\n6\n1\n0\n0\n0\n".utf8)
    }
}
