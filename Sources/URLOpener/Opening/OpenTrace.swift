internal import DBus
internal import Glibc
internal import OpenURLBus

/// The steps taken to open URLs, in the Trace Event Format, which Perfetto and browsers can display.
///
/// See <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU> for the format.
final class OpenTrace {
    private let file: OutputFile
    private var events: [JSON] = []
    private var lanes = 0

    /// Opens the file.
    ///
    /// - Parameter path: the path; nil for standard output.
    init(_ path: String?) throws(CommandFailure) {
        file = try OutputFile(path)
        add(metadata: "process_name", "openurl", lane: 0)
    }

    /// An ID for the next request, so that it can be found in the router's log.
    static var requestID: RequestID? { RequestID(rawValue: "trace-\(getpid())-\(TracePhase.now)") }

    /// Adds the opening of a URL, leaving out anything in the URLs that may be secret.
    ///
    /// - Parameters:
    ///   - fallback: the URLs that are tried if the URL has no handler, because strings may quote these too.
    ///   - start: when the command sent the URL, in microseconds on the clock of `TracePhase.now`.
    ///   - end: when the outcome was known.
    ///   - steps: the steps, whose times are measured from the moment the router accepted the URL.
    ///   - outcome: the outcome, in words.
    func add(
        _ url: String,
        fallback: [String] = [],
        from start: UInt64,
        to end: UInt64 = TracePhase.now,
        handler: String?,
        _ steps: [TracePhase],
        outcome: String
    ) {
        let total = max(end, start) - start
        let redacted = RedactedURL(url).text
        let secrets = ([url] + fallback).map { RedactedURL($0).secrets }
        lanes += 1
        let lane = lanes
        add(metadata: "thread_name", redacted, lane: lane)
        let facts: [(String, JSON)] = [
            ("handler", handler.map { .string($0) } ?? .null), ("outcome", .string(secrets.redacting(outcome))),
        ]
        add("open \(redacted)", at: start, total, lane: lane, facts)
        var before: UInt64 = 0
        for step in steps {
            // A step ends when it is reported. The handler and the router use the same clock, but a handler may report
            // any number.
            let end = min(step.microseconds, total)
            let begin = min(before, end)
            add(
                secrets.redacting(step.name),
                at: start + begin,
                end - begin,
                lane: lane,
                [("answer", .boolean(step.answer))]
            )
            before = end
        }
    }

    func write(_ output: StandardOutput) throws(CommandFailure) {
        let document = JSON.object([
            (name: "traceEvents", value: .array(events)), (name: "displayTimeUnit", value: .string("ms")),
        ])
        let text = Array("\(document.text)\n".utf8)
        try file.write(output) { (write) throws(CommandFailure) in _ = write(text[...]) }
    }

    private func add(_ name: String, at time: UInt64, _ duration: UInt64, lane: Int, _ arguments: [(String, JSON)]) {
        events.append(
            .object([
                ("name", .string(name)), ("cat", .string("openurl")), ("ph", .string("X")), ("ts", .number(time)),
                ("dur", .number(duration)), ("pid", .number(getpid())), ("tid", .number(lane)),
                ("args", .object(arguments.map { (name: $0.0, value: $0.1) })),
            ])
        )
    }

    private func add(metadata name: String, _ value: String, lane: Int) {
        events.append(
            .object([
                ("name", .string(name)), ("ph", .string("M")), ("pid", .number(getpid())), ("tid", .number(lane)),
                ("args", .object([("name", .string(value))])),
            ])
        )
    }
}
