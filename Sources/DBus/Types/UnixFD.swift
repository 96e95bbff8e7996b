internal import Glibc
internal import Synchronization

/// A descriptor that came in a message or goes out in one, and closes itself with its last reference.
///
/// One that arrives is this process's own duplicate, closed on `exec`; it is closed with the last reference to the object
/// that it was decoded into, or given up with ``take()``. One that is sent stays the sender's: the message gets a duplicate
/// of it while it is written.
public final class UnixFD: Sendable, Hashable {
    private let descriptor: Atomic<CInt>

    /// The descriptor; valid as long as this object lives and is not given up, -1 from then on.
    public var rawValue: CInt { descriptor.load(ordering: .relaxed) }

    /// Takes over a descriptor, which from now on is this object's to close.
    public init(owning descriptor: CInt) {
        self.descriptor = Atomic(descriptor)
    }

    /// Gives the descriptor up: it is the caller's to close, and other references to this object have none any more.
    ///
    /// - Returns: the descriptor; nil where it was given up before.
    public consuming func take() -> CInt? {
        let descriptor = descriptor.exchange(-1, ordering: .relaxed)
        return descriptor < 0 ? nil : descriptor
    }

    /// Reads the next value of a body.
    public convenience init(from reader: inout MessageReader) throws(MessageDecodingError) {
        self.init(owning: try reader.readDescriptor())
    }

    deinit {
        let descriptor = descriptor.load(ordering: .relaxed)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether both are the same object.
    public static func == (a: UnixFD, b: UnixFD) -> Bool { a === b }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
