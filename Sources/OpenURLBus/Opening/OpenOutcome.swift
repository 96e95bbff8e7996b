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
}
