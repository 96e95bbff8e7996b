internal import CLinux
internal import Glibc
internal import Synchronization

/// A file descriptor that is sent or received in a message. It is closed when the last reference to the object is gone.
///
/// A descriptor that arrives is this process's own duplicate, and is closed on `exec`. ``take()`` makes the caller its
/// owner. If the caller of an exported method leaves the bus while the method runs, the descriptors in the arguments
/// are closed, unless the method has taken them. This happens on the event loop, so take a descriptor first if you use
/// it on another thread. When you send a descriptor, it remains yours, because the message gets a duplicate when it is
/// written.
public final class UnixFD: Sendable, Hashable {
    private let descriptor: Atomic<CInt>

    /// The descriptor. It is valid as long as this object exists; -1 after ``take()``, and after the caller has left
    /// the bus.
    public var rawValue: CInt { descriptor.load(ordering: .relaxed) }

    /// Takes ownership of a descriptor.
    public init(owning descriptor: CInt) {
        self.descriptor = Atomic(descriptor)
    }

    /// Gives you the descriptor, which you then have to close. Other references to this object no longer have a
    /// descriptor.
    ///
    /// - Returns: The descriptor; nil if it was taken before.
    public consuming func take() -> CInt? {
        let descriptor = descriptor.exchange(-1, ordering: .relaxed)
        return descriptor < 0 ? nil : descriptor
    }

    /// Reads the next value of a body.
    public convenience init(from reader: inout MessageReader) throws(MessageDecodingError) {
        self.init(owning: try reader.readDescriptor())
        reader.add(self)
    }

    /// Closes the descriptor even though references to the object are left.
    func closeNow() {
        let descriptor = descriptor.exchange(-1, ordering: .relaxed)
        if descriptor >= 0 { close(descriptor) }
    }

    deinit {
        closeNow()
    }

    /// Whether both references are to the same object.
    public static func == (a: UnixFD, b: UnixFD) -> Bool { a === b }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
