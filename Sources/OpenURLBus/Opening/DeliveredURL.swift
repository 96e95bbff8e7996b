public import DBus

/// A URL with its context: the arguments of ``HandlerInterface/open``. ``SentURL`` says why they have a type of their
/// own.
public struct DeliveredURL: MessageBody, Hashable {
    /// The types of the URL and of the context.
    public static let signature: Signature = "sa{sv}"

    /// The URL.
    public let url: String
    /// Facts about the URL and its sender.
    public let context: OpenContext

    /// Creates the arguments.
    public init(_ url: String, _ context: OpenContext) {
        self.url = url
        self.context = context
    }

    /// Reads the arguments.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        url = try String(from: &reader)
        context = try OpenContext(from: &reader)
    }

    /// Writes the arguments.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try url.write(to: &writer)
        try context.write(to: &writer)
    }
}
