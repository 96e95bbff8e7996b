internal import CLinux
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import UserFiles

/// Copies the lines of one output file to the log, and keeps the file small.
///
/// Processes that write to the file never wait for the log: lines beyond the limit are read but not copied. A follower
/// belongs to the loop's thread.
final class OutputFollower {
    /// Limits on the output that goes to the log.
    struct Limits: Sendable {
        /// Length of a line, in bytes. If a line is longer, it is cut into several.
        var lineBytes = 4096
        /// Number of lines that are logged within ``period``; further lines are only counted. This is the same as
        /// journald's limit for a service (journald.conf(5), `RateLimitBurst=`).
        var lines = 10_000
        /// Size of the lines that are logged within ``period``, in bytes; further lines are only counted.
        var bytes = 1 << 20
        /// The period over which lines are counted.
        var period = Duration.seconds(30)
        /// Maximum size of a file, in bytes. A larger file is emptied once it has been read; at twice this size, it is
        /// emptied immediately.
        var fileBytes: Int64 = 1 << 20
    }

    private let directory: String
    private let name: String
    private let id: String
    private let loop: EventLoop
    private let log: Logger
    private let limits: Limits
    private let withoutSecrets: (String) -> String
    private let onEnd: () -> Void
    /// Number of bytes that have been read from the file.
    private var offset: Int64
    /// The line that is not complete yet.
    private var line: [UInt8] = []
    /// Whether the beginning of the line has been logged already, because the line is too long.
    private var isContinued = false
    private var lines = 0
    private var bytes = 0
    private var linesLeftOut = 0
    private var bytesLeftOut: Int64 = 0
    /// The timer that ends the period; nil between two periods.
    private var periodTimer: TimerID?
    /// The timer that continues reading after the loop's other work.
    private var readTimer: TimerID?
    /// Number of running processes for which this router opened the file.
    private var processes = 0
    /// Whether a process has exited since the end of the file was reached.
    private var hasEndedProcess = false

    /// Creates a follower that reads nothing yet.
    ///
    /// - Parameters:
    ///   - offset: the number of bytes at the start of the file that are not copied.
    ///   - withoutSecrets: returns a line's text without the secrets that the line may quote.
    ///   - onEnd: called when the file has been read and no process writes to it any longer, but not before the period
    ///     ends, because lines are counted over a whole period.
    init(
        _ directory: String,
        _ name: String,
        of id: String,
        from offset: Int64,
        on loop: EventLoop,
        log: Logger,
        limits: Limits,
        withoutSecrets: @escaping (String) -> String,
        onEnd: @escaping () -> Void
    ) {
        self.directory = directory
        self.name = name
        self.id = id
        self.offset = offset
        self.loop = loop
        self.log = log
        self.limits = limits
        self.withoutSecrets = withoutSecrets
        self.onEnd = onEnd
    }

    /// Locks an open file for as long as a process has the descriptor, so that ``hasWriter(_:)`` notices the process.
    static func lock(_ descriptor: CInt) {
        // Without a lock, a later router does not follow the file.
        _ = flock(descriptor, LOCK_SH | LOCK_NB)
    }

    private static func hasWriter(_ descriptor: CInt) -> Bool {
        // The router's own lock ends when it closes the file.
        flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// Notes that the file was opened for a process.
    func processStarts() {
        processes += 1
    }

    /// Reads to the end of the file and ends the last line there, because a process that wrote to the file has exited.
    ///
    /// - Parameter isOwn: whether the file was opened for the process.
    func processEnded(isOwn: Bool) {
        if isOwn { processes = max(processes - 1, 0) }
        hasEndedProcess = true
        read()
    }

    /// Reads to the end of the file, in pieces, so that the loop's other work gets its turn.
    func read() {
        guard readTimer == nil else { return }
        let isDone: Bool
        do throws(FileError) {
            let file = try PrivateDirectory(directory, depth: 2).open(name, O_RDWR)
            defer { close(file.descriptor) }
            if readPiece(file.descriptor, size: Int64(file.status.st_size)) {
                readTimer = loop.schedule(at: .now) {
                    self.readTimer = nil
                    self.read()
                }
                return
            }
            isDone = processes == 0 && periodTimer == nil && !Self.hasWriter(file.descriptor)
        } catch {
            // The file was removed or replaced.
            isDone = processes == 0 && periodTimer == nil
        }
        if hasEndedProcess {
            hasEndedProcess = false
            endLine()
            report()
        }
        // The last line may have begun a period.
        if isDone, periodTimer == nil { onEnd() }
    }

    /// - Returns: whether there is more to read.
    private func readPiece(_ descriptor: CInt, size: Int64) -> Bool {
        // Another program has emptied or replaced the file.
        if size < offset { offset = 0 }
        guard size > offset || size > limits.fileBytes else { return false }
        if size > 2 * limits.fileBytes {
            if size > offset { leaveOut(size - offset) }
            offset = size
        } else if size > offset {
            let count = withUnsafeTemporaryAllocation(byteCount: 1 << 14, alignment: 1) { buffer in
                let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
                if count > 0 { add(buffer[..<count]) }
                return count
            }
            guard count > 0 else { return false }
            offset += Int64(count)
        }
        guard offset >= size else { return true }
        // If a process writes between these two calls, its line is lost. All later lines go to the start of the empty
        // file, because every write is appended.
        var status = stat()
        if fstat(descriptor, &status) == 0, Int64(status.st_size) <= offset, offset > limits.fileBytes,
            ftruncate(descriptor, 0) == 0
        {
            offset = 0
            return false
        }
        return Int64(status.st_size) > offset
    }

    private func add(_ bytes: Slice<UnsafeMutableRawBufferPointer>) {
        var rest = bytes
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<end])
            endLine()
            rest = rest[(end + 1)...]
        }
        append(rest)
    }

    private func append(_ part: Slice<UnsafeMutableRawBufferPointer>) {
        var rest = part
        while line.count + rest.count > limits.lineBytes {
            let room = limits.lineBytes - line.count
            line += rest.prefix(room)
            endLine(isCut: true)
            rest = rest.dropFirst(room)
        }
        line += rest
    }

    /// Logs the line, unless it is empty or beyond the limit.
    private func endLine(isCut: Bool = false) {
        let continues = isContinued
        isContinued = isCut
        guard !line.isEmpty else { return }
        defer { line.removeAll(keepingCapacity: true) }
        beginPeriod()
        lines += 1
        bytes += line.count
        if lines <= limits.lines, bytes <= limits.bytes {
            let mark = RedactedURL.mark
            // If the line is cut, a secret in it may be cut as well.
            let text = "\(continues ? mark : "")\(String(decoding: line, as: UTF8.self))\(isCut ? mark : "")"
            let shown = withoutSecrets(text).dropFirst(continues ? 1 : 0).dropLast(isCut ? 1 : 0)
            log.info("\(shown.isEmpty ? mark : String(shown))", metadata: ["handler": "\(id)"], source: "output")
        } else {
            linesLeftOut += 1
        }
    }

    private func leaveOut(_ bytes: Int64) {
        line.removeAll(keepingCapacity: true)
        isContinued = true
        beginPeriod()
        bytesLeftOut += bytes
    }

    private func beginPeriod() {
        periodTimer = periodTimer ?? loop.schedule(at: .now + limits.period) { self.endPeriod() }
    }

    private func endPeriod() {
        periodTimer = nil
        report()
        lines = 0
        bytes = 0
        read()
    }

    /// Reports how many lines and bytes were left out since the last report.
    private func report() {
        if linesLeftOut > 0 {
            log.warning("it wrote too much: \(linesLeftOut) lines were left out", metadata: ["handler": "\(id)"])
        }
        if bytesLeftOut > 0 {
            log.warning("it wrote too much: \(bytesLeftOut) bytes were left out", metadata: ["handler": "\(id)"])
        }
        linesLeftOut = 0
        bytesLeftOut = 0
    }
}
