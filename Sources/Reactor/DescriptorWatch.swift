/// The events that a descriptor is watched for, or is ready for.
public struct DescriptorEvents: OptionSet, Sendable {
    /// The events as a set of bits, which this type defines.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// There is something to read. The corresponding C constant is `POLLIN`.
    public static let readable = DescriptorEvents(rawValue: 1)
    /// Writing does not block. The corresponding C constant is `POLLOUT`.
    public static let writable = DescriptorEvents(rawValue: 2)
    /// The other end has closed. This event is reported even if it was not asked for. The corresponding C constant is
    /// `POLLHUP`.
    public static let hangup = DescriptorEvents(rawValue: 4)
    /// The descriptor is broken. This event is reported even if it was not asked for. The corresponding C constants are
    /// `POLLERR` and `POLLNVAL`.
    public static let error = DescriptorEvents(rawValue: 8)
    /// Something other than data has arrived. The corresponding C constant is `POLLPRI`.
    public static let priority = DescriptorEvents(rawValue: 16)
}

/// A descriptor that an event loop watches until ``cancel()``.
///
/// Use a watch on the loop's thread only. After ``EventLoop/stop()``, ``EventLoop/run(_:)`` starts the thread again, so
/// a watch can still be cancelled there. When the loop is deallocated, its watches end.
///
/// The loop keeps the watch alive, so dropping the last reference does not end the watch.
public final class DescriptorWatch {
    let descriptor: CInt
    /// The closure that handles events; nil once the watch has ended. A handler may hold its own watch in order to
    /// cancel it, so the two would otherwise keep each other alive.
    private(set) var handler: ((DescriptorEvents) -> Void)?
    private weak var loop: EventLoop?

    /// The events that the descriptor is watched for.
    public var events: DescriptorEvents {
        didSet { if events != oldValue { loop?.update(self) } }
    }

    /// Whether the loop watches the descriptor. A disabled watch costs nothing and can be enabled again.
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

    /// Ends the watch. The handler is not called again, even for an event that has already been seen.
    public func cancel() {
        guard handler != nil else { return }
        handler = nil
        loop?.remove(self)
    }
}
