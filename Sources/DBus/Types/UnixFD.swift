internal import Glibc

/// A descriptor that came in a message or goes out in one, and closes itself with its last reference.
public final class UnixFD: Sendable, Hashable {
    /// The descriptor; valid as long as this object lives.
    public let rawValue: CInt

    /// Takes over a descriptor, which from now on is this object's to close.
    public init(owning descriptor: CInt) {
        rawValue = descriptor
    }

    /// Reads the next value of a body.
    public convenience init(from reader: inout MessageReader) throws(DecodingError) {
        self.init(owning: try reader.readDescriptor())
    }

    deinit {
        close(rawValue)
    }

    /// Whether both are the same object.
    public static func == (a: UnixFD, b: UnixFD) -> Bool { a === b }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
