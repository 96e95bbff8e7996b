public import DBus

/// A URL with its sender's options: the arguments of ``RouterInterface/openURL`` and ``RouterInterface/call``.
///
/// This type and ``DeliveredURL`` are used instead of the generic `Arguments`. At run time, Swift creates the metadata of
/// generic types and copies their values through it, which is noticeable each time a URL is opened.
public struct SentURL: MessageBody, Hashable {
    /// The types of the URL and of the options.
    public static let signature: Signature = "sa{sv}"

    /// The URL, which the router has not checked.
    public let url: String
    /// The sender's options.
    public let options: OpenOptions

    /// Creates the arguments.
    public init(_ url: String, _ options: OpenOptions = OpenOptions()) {
        self.url = url
        self.options = options
    }

    /// Reads the arguments.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        self.init(try String(from: &reader), try OpenOptions(from: &reader))
    }

    /// Writes the arguments.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try url.write(to: &writer)
        try options.write(to: &writer)
    }
}
