internal import Glibc
internal import Logging
internal import Reactor

/// Copies the lines of one output file to the log, and keeps the file small.
///
/// The processes that write to the file never wait for the log: lines above the limit are read and left out. A follower
/// belongs to the loop's thread.
final class OutputFollower {
    /// The limits of the output that goes to the log.
    struct Limits: Sendable {
        /// The length of a line, in bytes. A longer line is cut into several.
        var lineBytes = 4096
        /// The number of lines that are logged within ``period``; further lines are only counted. The value is journald's
        /// for a service (journald.conf(5), `RateLimitBurst=`).
        var lines = 10_000
        /// The time in which lines count together.
        var period = Duration.seconds(30)
        /// The size of a file, in bytes. A larger file is emptied once it is read, and a file of twice the size at once.
        var fileBytes: Int64 = 1 << 20
    }

    private let path: String
    private let id: String
    private let loop: EventLoop
    private let log: Logger
    private let limits: Limits
    /// The number of bytes of the file that have been read.
    private var offset: Int64
    /// The line that is not complete yet.
    private var line: [UInt8] = []
    private var periodEnd = ContinuousClock.now
    private var lines = 0
    private var linesLeftOut = 0
    private var bytesLeftOut: Int64 = 0
    /// Tells the lines and bytes that were left out, at the end of the period.
    private var reportTimer: TimerID?
    /// Continues to read, after the loop's other work.
    private var readTimer: TimerID?
    /// Whether a process has ended since the end of the file was reached.
    private var hasEndedProcess = false

    /// Creates a follower that reads nothing yet.
    ///
    /// - Parameter offset: the number of bytes at the start of the file that are not copied.
    init(_ path: String, of id: String, from offset: Int64, on loop: EventLoop, log: Logger, limits: Limits) {
        self.path = path
        self.id = id
        self.offset = offset
        self.loop = loop
        self.log = log
        self.limits = limits
    }

    /// Reads to the end of the file, in pieces, so that the loop's other work gets its turn.
    func read() {
        guard readTimer == nil else { return }
        if readPiece() {
            readTimer = loop.schedule(at: .now) {
                self.readTimer = nil
                self.read()
            }
        } else if hasEndedProcess {
            hasEndedProcess = false
            endLine()
            endPeriod()
        }
    }

    /// Reads to the end of the file and takes that for the end of a line, because a process that wrote to the file has ended.
    func readLastLine() {
        hasEndedProcess = true
        read()
    }

    /// - Returns: whether more is to be read.
    private func readPiece() -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        let size = Int64(status.st_size)
        // Another program has emptied or replaced the file.
        if size < offset { offset = 0 }
        guard size > offset || size > limits.fileBytes else { return false }
        let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
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
        // A process may write between the two calls, and its line is then lost. Every write goes to the end of the file, so
        // later lines come to the start of the empty file.
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
            endLine()
            rest = rest.dropFirst(room)
        }
        line += rest
    }

    /// Logs the line, unless the line is empty or above the limit.
    private func endLine() {
        guard !line.isEmpty else { return }
        defer { line.removeAll(keepingCapacity: true) }
        beginPeriod()
        lines += 1
        if lines <= limits.lines {
            log.info("\(String(decoding: line, as: UTF8.self))", metadata: ["handler": "\(id)"], source: "output")
        } else {
            linesLeftOut += 1
            reportAtTheEndOfThePeriod()
        }
    }

    private func leaveOut(_ bytes: Int64) {
        line.removeAll(keepingCapacity: true)
        beginPeriod()
        bytesLeftOut += bytes
        reportAtTheEndOfThePeriod()
    }

    private func beginPeriod() {
        guard periodEnd <= .now else { return }
        endPeriod()
        periodEnd = .now + limits.period
    }

    private func reportAtTheEndOfThePeriod() {
        reportTimer = reportTimer ?? loop.schedule(at: periodEnd) { self.endPeriod() }
    }

    private func endPeriod() {
        if let reportTimer { loop.cancelTimer(reportTimer) }
        reportTimer = nil
        if linesLeftOut > 0 {
            log.warning("it wrote too much: \(linesLeftOut) lines were left out", metadata: ["handler": "\(id)"])
        }
        if bytesLeftOut > 0 {
            log.warning("it wrote too much: \(bytesLeftOut) bytes were left out", metadata: ["handler": "\(id)"])
        }
        lines = 0
        linesLeftOut = 0
        bytesLeftOut = 0
        periodEnd = .now
    }
}
