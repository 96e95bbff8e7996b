import Logging
import Synchronization

/// A log that a test reads.
final class RecordedLog: Sendable {
    struct Entry: Sendable, Hashable {
        var level: Logger.Level
        var text: String
        var metadata: [String: String] = [:]
    }

    private let state = Mutex<[Entry]>([])

    var entries: [Entry] { state.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private func append(_ entry: Entry) {
        state.withLock { $0.append(entry) }
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = (event.metadata ?? [:]).mapValues { "\($0)" }
            log.append(Entry(level: event.level, text: "\(event.message)", metadata: metadata))
        }
    }
}
