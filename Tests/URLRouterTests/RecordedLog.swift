import Logging
import Reactor

/// A log for tests. Each line is `level id: message`.
final class RecordedLog: Sendable {
    private struct Content {
        var lines: [String] = []
        var processes: [String: UInt32] = [:]
        var readers: [(text: String, times: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Returns whether at least `times` lines end with the text.
        func has(_ text: String, times: Int) -> Bool {
            lines.count { $0.hasSuffix(text) } >= times
        }
    }

    private let content = Lock(Content())

    /// The logger for the router.
    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    var lines: [String] { content.withLock { $0.lines } }

    /// Returns the process that was started last for a handler or an application.
    func pid(of id: String) -> UInt32? { content.withLock { $0.processes[id] } }

    /// Returns when at least `times` lines end with the text.
    func wait(for text: String, times: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = content.withLock { content in
                if content.has(text, times: times) { return true }
                content.readers.append((text, times, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func add(_ line: String, _ id: String, _ pid: UInt32?) {
        let readers = content.withLock { content in
            content.lines.append(line)
            if let pid { content.processes[id] = pid }
            let readers = content.readers
            content.readers = readers.filter { !content.has($0.text, times: $0.times) }
            return readers.filter { content.has($0.text, times: $0.times) }
        }
        for reader in readers { reader.continuation.resume() }
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.debug
        var metadata = Logger.Metadata()

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let id = (event.metadata?["handler"] ?? event.metadata?["application"])?.description ?? ""
            let pid = event.metadata?["pid"].flatMap { UInt32($0.description) }
            log.add("\(event.level) \(id): \(event.message)", id, pid)
        }
    }
}
