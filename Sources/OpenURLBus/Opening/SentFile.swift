public import DBus

/// A file that a caller hands over with ``RouterInterface/openFiles``: a name, and the open file.
public struct SentFile: DBusType, Hashable {
    /// The file's name in the inbox, which is one element of a path.
    public var name: String
    /// A regular file that is open for reading.
    public var descriptor: UnixFD

    /// Creates a file to send.
    public init(name: String, descriptor: UnixFD) {
        self.name = name
        self.descriptor = descriptor
    }

    private static let structure: Signature = "(sh)"

    /// `(sh)`
    public static var signature: Signature { structure }

    /// Reads a file.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        var file: SentFile?
        try reader.readStructure { (reader) throws(MessageDecodingError) in
            file = SentFile(name: try reader.readString(), descriptor: try UnixFD(from: &reader))
        }
        guard let file else { throw .invalidValue("an empty structure") }
        self = file
    }

    /// Appends the file. The message gets a duplicate of the descriptor.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendStructure { (writer) throws(MessageEncodingError) in
            try writer.append(name)
            try descriptor.write(to: &writer)
        }
    }
}
