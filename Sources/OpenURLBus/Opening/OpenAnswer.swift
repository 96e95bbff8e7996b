public import DBus

/// A handler's answer to ``HandlerInterface/open``.
public struct OpenAnswer: MessageBody, Hashable {
    /// Whether the handler took the URL.
    public let isHandled: Bool
    /// The values that the sender gets with the answer.
    public let reply: [String: Value]
    /// The steps that the handler took, in order.
    public let trace: [TracePhase]

    /// Creates an answer.
    public init(isHandled: Bool, reply: [String: Value], trace: [TracePhase]) {
        self.isHandled = isHandled
        self.reply = reply
        self.trace = trace
    }

    /// `ba{sv}a(stb)`
    public static var signature: Signature { "ba{sv}a(stb)" }

    /// Reads an answer.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        isHandled = try reader.readBool()
        reply = try [String: Value](from: &reader)
        trace = try [TracePhase](from: &reader)
    }

    /// Appends the answer.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.append(isHandled)
        try writer.append(options: reply)
        try trace.write(to: &writer)
    }
}
