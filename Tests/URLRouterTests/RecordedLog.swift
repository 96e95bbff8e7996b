import Logging
import Reactor
import TestSupport
import Testing

/// A log for tests. Each line is `level id: message`.
final class RecordedLog: Sendable {
    private struct Content {
        var lines: [String] = []
        var processes: [String: UInt32] = [:]
    }

    private let content = Lock(Content())

    /// The logger for the router.
    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    var lines: [String] { content.withLock { $0.lines } }

    /// Returns the process that was started last for a handler or an application.
    func pid(of id: String) -> UInt32? { content.withLock { $0.processes[id] } }

    /// Returns when at least `times` lines end with the text.
    func wait(for text: String, times: Int = 1, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually(lines, sourceLocation: sourceLocation) { $0.count { $0.hasSuffix(text) } >= times }
    }

    private func add(_ line: String, _ id: String, _ pid: UInt32?) {
        content.withLock { content in
            content.lines.append(line)
            if let pid { content.processes[id] = pid }
        }
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
