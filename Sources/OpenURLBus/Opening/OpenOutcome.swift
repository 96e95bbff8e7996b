public import DBus

/// The outcome for one of several URLs: one of the `results` of `OpenURLs`.
public enum OpenOutcome: DBusType {
    /// The URL was opened.
    case opened(OpenResult)
    /// The URL was not opened. On the bus, `error` has the error's name and `message` its text.
    case failed(RemoteError)

    /// `a{sv}`
    public static var signature: Signature { OpenResult.signature }

    /// Reads an outcome.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let entries = try [String: Value](from: &reader)
        if let error = try ErrorFields(entries).error {
            self = .failed(RemoteError(error))
        } else {
            self = .opened(try OpenResult(entries))
        }
    }

    /// Appends the outcome.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        switch self {
        case .opened(let result): try result.write(to: &writer)
        case .failed(let error): try ErrorFields(error: ErrorFields.NamedError(error)).write(to: &writer)
        }
    }

    /// The outcome without the parts that may be large.
    ///
    /// The step `replyOmitted` says that there may have been a reply.
    package var shortened: OpenOutcome {
        switch self {
        case .opened(var result):
            let end = result.trace.last?.microseconds ?? 0
            (result.reply, result.trace) = ([:], [TracePhase("replyOmitted", microseconds: end)])
            return .opened(result)
        case .failed(let error):
            return .failed(RemoteError(error.name, "the message of the other host is too large"))
        }
    }
}
