internal import Glibc
internal import Logging

/// A log handler that writes each entry as one line.
struct LineLogHandler: LogHandler {
    /// The form of the lines.
    enum Form: Sendable {
        /// For journald, which adds the time and the program's name itself: the priority (sd-daemon(3)), the metadata,
        /// and the message.
        case journal
        /// For people to read: the time, the level, the label, the metadata, the module and the message, in swift-log's
        /// format.
        case text(label: String)
    }

    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    private let form: Form
    private let write: @Sendable (String) -> Void

    /// - Parameter write: writes a line, including its line break.
    init(_ form: Form, _ write: @escaping @Sendable (String) -> Void) {
        self.form = form
        self.write = write
    }

    /// Returns whether a descriptor is the given journald stream.
    ///
    /// The stream is given as a device and an inode, such as `9:1234`, which systemd passes in `JOURNAL_STREAM`
    /// (systemd.exec(5)).
    static func isStream(_ stream: String?, _ descriptor: CInt) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && stream == "\(status.st_dev):\(status.st_ino)"
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let metadata = metadata.merging(event.metadata ?? [:]) { $1 }
        let words = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        switch form {
        case .journal:
            write("<\(event.level.priority)>\(words.map { "\($0) " }.joined())\(event.message)\n")
        case .text(let label):
            let words = words.isEmpty ? "" : " \(words.joined(separator: " "))"
            write("\(Self.now) \(event.level) \(label):\(words) [\(event.source)] \(event.message)\n")
        }
    }

    /// The time of day with its zone's offset.
    private static var now: String {
        var now = time(nil)
        var parts = tm()
        guard localtime_r(&now, &parts) != nil else { return "-" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress, strftime(start, buffer.count, "%Y-%m-%dT%H:%M:%S%z", &parts) > 0
            else {
                return "-"
            }
            return String(cString: start)
        }
    }
}

extension Logger.Level {
    /// The level's syslog(3) priority.
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
