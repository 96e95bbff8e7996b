internal import Glibc
internal import Logging
internal import Reactor

/// Copies the output of a process from a pipe to the log, line by line.
///
/// The process never waits for the log: lines above the limit are read and left out. A reader lives until the other end of
/// the pipe is closed. It belongs to the loop's thread.
final class OutputPipeReader {
    /// The limits of the output that goes to the log.
    struct Limits: Sendable {
        /// The length of a line, in bytes, and of one read. A longer line is cut into several.
        var lineBytes = 4096
        /// The number of lines that a process may write within ``period``; further lines are only counted. The value is
        /// journald's for a service (journald.conf(5), `RateLimitBurst=`).
        var lines = 10_000
        /// The time in which lines count together.
        var period = Duration.seconds(30)
    }

    private let descriptor: CInt
    private let id: String
    private let output: HandlerOutput
    private var watch: DescriptorWatch?
    /// The line that is not complete yet.
    private var line: [UInt8] = []
    private var periodEnd = ContinuousClock.now
    private var lines = 0
    private var leftOut = 0
    private var timer: TimerID?

    private init(_ descriptor: CInt, of id: String, _ output: HandlerOutput) {
        self.descriptor = descriptor
        self.id = id
        self.output = output
    }

    deinit {
        close(descriptor)
    }

    /// Reads a pipe, without waiting, until its other end is closed, and closes the pipe then.
    static func start(_ descriptor: CInt, of id: String, _ output: HandlerOutput) {
        let reader = OutputPipeReader(descriptor, of: id, output)
        reader.watch = output.loop.watch(descriptor, for: .readable) { _ in reader.readSome() }
    }

    /// Reads once, however much there is, so that the loop's other descriptors get their turn.
    private func readSome() {
        let size = output.limits.lineBytes
        let count = withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress, size)
            if count > 0 { add(buffer[..<count]) }
            return count
        }
        guard count == 0 || count < 0 && errno != EAGAIN && errno != EINTR else { return }
        endLine()
        endPeriod()
        watch?.cancel()
        watch = nil
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
        let room = output.limits.lineBytes - line.count
        line += part.prefix(room)
        guard part.count > room else { return }
        endLine()
        line += part.dropFirst(room)
    }

    /// Logs the line, unless the line is empty or above the limit.
    private func endLine() {
        guard !line.isEmpty else { return }
        defer { line.removeAll(keepingCapacity: true) }
        if periodEnd <= .now { endPeriod() }
        if lines == 0 { periodEnd = .now + output.limits.period }
        lines += 1
        if lines <= output.limits.lines {
            let text = String(decoding: line, as: UTF8.self)
            output.log.info("\(text)", metadata: ["handler": "\(id)"], source: "output")
        } else {
            leftOut += 1
            timer = timer ?? output.loop.schedule(at: periodEnd) { self.endPeriod() }
        }
    }

    private func endPeriod() {
        if let timer { output.loop.cancelTimer(timer) }
        timer = nil
        if leftOut > 0 {
            output.log.warning("it wrote too much: \(leftOut) lines were left out", metadata: ["handler": "\(id)"])
        }
        lines = 0
        leftOut = 0
    }
}
