/// What a descriptor is watched for, or was found ready for.
public struct DescriptorEvents: OptionSet, Sendable {
    /// The events as a set of bits of this type's own.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// There is something to read. The corresponding C constant is `POLLIN`.
    public static let readable = DescriptorEvents(rawValue: 1)
    /// Writing will not block. The corresponding C constant is `POLLOUT`.
    public static let writable = DescriptorEvents(rawValue: 2)
    /// The other end is gone; reported whether asked for or not. The corresponding C constant is `POLLHUP`.
    public static let hangup = DescriptorEvents(rawValue: 4)
    /// The descriptor is broken; reported whether asked for or not. The C constants are `POLLERR` and `POLLNVAL`.
    public static let error = DescriptorEvents(rawValue: 8)
    /// Something has happened that is not data. The corresponding C constant is `POLLPRI`.
    public static let priority = DescriptorEvents(rawValue: 16)
}

/// A descriptor that an event loop watches, until ``cancel()``.
///
/// All of it belongs to the loop's thread; after ``EventLoop/stop()`` one more job, ``EventLoop/run(_:)``, has that thread to
/// end a watch on, and when the loop is gone there is nothing to end. The loop keeps the watch alive, so dropping the last
/// reference does not end it.
public final class DescriptorWatch {
    let descriptor: CInt
    /// Nil once the watch has ended: a handler that holds its own watch, to cancel it, would otherwise keep both for ever.
    private(set) var handler: ((DescriptorEvents) -> Void)?
    private weak var loop: EventLoop?

    /// What the descriptor is watched for.
    public var events: DescriptorEvents {
        didSet { if events != oldValue { loop?.update(self) } }
    }

    /// Whether the descriptor is looked at; a disabled watch costs nothing and can be enabled again.
    public var isEnabled = true {
        didSet { if isEnabled != oldValue { loop?.update(self) } }
    }

    init(
        descriptor: CInt,
        events: DescriptorEvents,
        loop: EventLoop?,
        handler: @escaping (DescriptorEvents) -> Void
    ) {
        self.descriptor = descriptor
        self.events = events
        self.loop = loop
        self.handler = handler
    }

    /// Ends the watch: from now on its handler is not called, even for an event that was already seen.
    public func cancel() {
        guard handler != nil else { return }
        handler = nil
        loop?.remove(self)
    }
}
