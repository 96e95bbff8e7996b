internal import Logging
internal import UserFiles

/// A log handler that turns each entry into one line, which cannot mislead a terminal or a reader.
///
/// Entries quote handlers: their output, their error messages, their URLs. Without escapes, a line break or a control
/// character in a quotation could forge an entry or control the terminal.
struct EscapingLogHandler: LogHandler {
    private var inner: any LogHandler

    /// Escapes entries, and passes them on to another handler.
    init(_ inner: any LogHandler) {
        self.inner = inner
    }

    var logLevel: Logger.Level {
        get { inner.logLevel }
        set { inner.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { inner.metadata }
        set { inner.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { inner[metadataKey: key] }
        set { inner[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(printableLine(event.message.description))"
        event.metadata = event.metadata?.mapValues { "\(printableLine($0.description))" }
        inner.log(event: event)
    }
}
