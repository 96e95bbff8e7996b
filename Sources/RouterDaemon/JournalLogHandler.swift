internal import Glibc
internal import Logging

/// Writes each entry as one line for journald: the priority (sd-daemon(3)), the metadata, and the message.
///
/// journald adds the time and the name of the program itself.
struct JournalLogHandler: LogHandler {
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    private let write: @Sendable (String) -> Void

    /// - Parameter write: writes a line, with its end.
    init(_ write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    /// A handler for the standard error; nil if the standard error does not go to journald.
    ///
    /// - Parameter stream: the device and the inode of journald's stream, as systemd passes them in `JOURNAL_STREAM`
    ///   (systemd.exec(5)).
    static func standardError(stream: String?) -> JournalLogHandler? {
        guard isStream(stream, STDERR_FILENO) else { return nil }
        return JournalLogHandler { line in
            let bytes = Array(line.utf8)
            _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
        }
    }

    /// Whether a descriptor is the stream with a device and an inode, such as `9:1234`.
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
        let words = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value) " }.joined()
        write("<\(event.level.priority)>\(words)\(event.message)\n")
    }
}

extension Logger.Level {
    /// The priority of syslog(3) for the level.
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
