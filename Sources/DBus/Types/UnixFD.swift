internal import CLinux
internal import Glibc
internal import Synchronization

/// A descriptor that arrives in a message or is sent in a message. The descriptor is closed with the last reference to
/// the object.
///
/// A descriptor that arrives is this process's own duplicate, and is closed on `exec`. ``take()`` makes the caller its
/// owner. A descriptor in the arguments of an exported method is closed when the caller of the method leaves the bus
/// while the method runs, unless the method has taken the descriptor. The descriptor is closed on the event
/// loop, so a method that uses the descriptor on another thread takes it first. A descriptor that is sent stays with the
/// sender, because the message gets a duplicate when it is written.
public final class UnixFD: Sendable, Hashable {
    private let descriptor: Atomic<CInt>

    /// The descriptor. The value is valid as long as this object lives, and -1 after ``take()`` and after the end of the
    /// caller.
    public var rawValue: CInt { descriptor.load(ordering: .relaxed) }

    /// Takes ownership of a descriptor.
    public init(owning descriptor: CInt) {
        self.descriptor = Atomic(descriptor)
    }

    /// Gives the descriptor to the caller, who has to close it. Other references to this object no longer have a
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

    /// Closes the descriptor before the last reference to the object is gone.
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
