internal import CLinux
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SystemPackage
internal import UserFiles

/// Sends the standard output and error of started processes to journald, or else to files.
struct HandlerOutput: Sendable {
    let log: Logger
    /// The socket on which journald accepts lines (systemd-journald.service(8)).
    let journal: String
    private let urls: RecentURLs
    /// Nil without a directory for the files.
    private let files: OutputFiles?

    /// The environment variable with another path for journald's socket. If it is empty, all output goes to files.
    static let variable = "OPENURL_JOURNAL"
    /// The usual path of journald's socket.
    static let usualJournal = "/run/systemd/journal/stdout"

    /// - Parameters:
    ///   - directory: the directory for the files; if it is nil and there is no journald, the output is lost.
    ///   - limits: the limits on the output that goes from the files to the log.
    init(
        in directory: String?,
        on loop: EventLoop,
        log: Logger,
        journal: String = usualJournal,
        limits: OutputFollower.Limits = OutputFollower.Limits()
    ) {
        self.log = log
        self.journal = journal
        let urls = RecentURLs(on: loop)
        self.urls = urls
        files = directory.map { OutputFiles(in: $0, on: loop, log: log, limits: limits, urls) }
    }

    /// Opens a stream for the output of a process. Call this on the loop's thread.
    ///
    /// - Parameters:
    ///   - id: the identifier for the lines in the journal.
    ///   - file: the name of the file without its suffix: the identifier of the handler or the application.
    ///   - isRead: whether the router needs the last line. If so, the output goes to a file, and from there to the
    ///     router's log.
    /// - Returns: a descriptor, which the caller must close once the process has it, and where the output goes.
    func open(
        for id: String,
        file: String,
        isRead: Bool = false
    ) throws(Errno) -> (descriptor: CInt, output: ProcessOutput) {
        if isRead, let opened = openFile(for: file) { return opened }
        if let stream = connectToJournal(as: id) { return (stream, .journal(identifier: id)) }
        if let opened = openFile(for: file) { return opened }
        let null = Glibc.open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard null >= 0 else { throw Errno(rawValue: errno) }
        return (null, .nowhere)
    }

    /// Where the next process's output will go. ``open(for:file:isRead:)`` makes the same choice, unless journald is
    /// too busy by then, or the file cannot be opened.
    func place(for id: String, file: String, isRead: Bool) -> ProcessOutput {
        let path = files?.path(of: file)
        // The socket exists as long as journald runs, because systemd listens on journald's behalf.
        if !isRead || path == nil, access(journal, W_OK) == 0 { return .journal(identifier: id) }
        return path.map { .file($0, start: 0) } ?? .nowhere
    }

    /// Notes a URL that a process gets, because the process may quote it in its output. Call this on the loop's thread.
    ///
    /// - Parameter file: the name of the process's file, as for ``open(for:file:isRead:)``.
    func note(_ url: String, of file: String) { urls.assumeIsolated { $0.add(url, of: file) } }

    /// Removes from a string the secrets in the latest URLs that a file's processes got. Call this on the loop's
    /// thread.
    func withoutSecrets(_ text: QuotingText, of file: String) -> QuotingText {
        urls.assumeIsolated { $0.redacting(text, of: file) }
    }

    /// Continues to copy the files that processes started by earlier routers write to. Call this on the loop's thread.
    func followExisting() {
        files?.assumeIsolated { $0.followExisting() }
    }

    /// Names of the files that are followed, in order. Use this on the loop's thread.
    var followed: [String] { files?.assumeIsolated { $0.followed } ?? [] }

    /// Notes that a process has exited. Call this on the loop's thread.
    ///
    /// - Parameters:
    ///   - file: the name of the process's file, as for ``open(for:file:isRead:)``.
    ///   - isOwn: whether the output was opened for the process. Otherwise an earlier router or another program started
    ///     it.
    func processEnded(_ file: String, isOwn: Bool) {
        files?.assumeIsolated { $0.processEnded(file, isOwn: isOwn) }
    }

    /// Adds to a handler's output a text that its process has not written itself. Call this on the loop's thread.
    func add(_ text: String, to id: String) {
        do throws(Errno) {
            let (descriptor, output) = try open(for: id, file: id)
            let bytes = Array((text.hasSuffix("\n") ? text : text + "\n").utf8)
            // The text fits into the buffer of a new socket. The file may be a FIFO without a reader.
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
            let count = write(descriptor, bytes, bytes.count)
            let problem = Errno(rawValue: errno)
            close(descriptor)
            if case .file = output { processEnded(id, isOwn: true) }
            if count < bytes.count { throw count < 0 ? problem : .noSpace }
        } catch {
            log.warning("its output has no traceback: \(error)", metadata: ["handler": "\(id)"])
        }
    }

    private func openFile(for id: String) -> (descriptor: CInt, output: ProcessOutput)? {
        guard let files else { return nil }
        let result = files.assumeIsolated { files in
            do throws(FileError) {
                return Result<(descriptor: CInt, output: ProcessOutput), FileError>.success(try files.open(id))
            } catch {
                return .failure(error)
            }
        }
        do throws(FileError) {
            return try result.get()
        } catch {
            log.warning("its output is lost, because the file for it \(error)", metadata: ["handler": "\(id)"])
            return nil
        }
    }

    /// Connects to journald without waiting; nil without journald, or if it is too busy for another stream.
    private func connectToJournal(as id: String) -> CInt? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard journal.hasPrefix("/"), journal.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
            return nil
        }
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
        // The whole header fits into the buffer of a new socket. The process's later writes may wait, as in a systemd
        // service.
        guard isConnected, shutdown(stream, CInt(SHUT_RD)) == 0,
            send(stream, header, header.count, CInt(MSG_NOSIGNAL)) == header.count,
            fcntl(stream, F_SETFL, 0) == 0
        else {
            close(stream)
            return nil
        }
        return stream
    }

    /// Returns the header of a stream, as sd_journal_stream_fd(3) sends it.
    ///
    /// Its lines say, in this order: the identifier; no unit, because journald finds the unit itself; the default
    /// priority, 6 (informational); that a prefix such as `<3>` may give another priority; no forwarding to syslog, to
    /// the kernel's log or to the console.
    private static func header(_ id: String) -> [UInt8] {
        // If a line in the header has more than 254 bytes, journald splits it.
        Array(id.utf8.prefix(254)) + Array("\n\n6\n1\n0\n0\n0\n".utf8)
    }
}
