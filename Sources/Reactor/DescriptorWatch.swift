/// The events that a descriptor is watched for, or is ready for.
public struct DescriptorEvents: OptionSet, Sendable {
    /// The events as a set of bits that this type defines.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// There is something to read. In C, this is `EPOLLIN`.
    public static let readable = DescriptorEvents(rawValue: 1)
    /// Writing does not block. In C, this is `EPOLLOUT`.
    public static let writable = DescriptorEvents(rawValue: 2)
    /// The other end has been closed. You get this event even if you did not ask for it. In C, it is `EPOLLHUP`.
    public static let hangup = DescriptorEvents(rawValue: 4)
    /// The descriptor is broken, or cannot be watched. You get this event even if you did not ask for it. In C, it is
    /// `EPOLLERR`.
    public static let error = DescriptorEvents(rawValue: 8)
    /// Something other than data has arrived. In C, this is `EPOLLPRI`.
    public static let priority = DescriptorEvents(rawValue: 16)
}

/// A descriptor that an event loop watches until ``cancel()``.
///
/// Use a watch only on the loop's thread. After ``EventLoop/stop()``, ``EventLoop/run(_:)`` starts the thread again, so
/// you can still cancel a watch there. When the loop is deallocated, its watches end.
///
/// The loop keeps the watch alive, so it does not end when you drop the last reference to it.
public final class DescriptorWatch {
    let descriptor: CInt
    /// Handles events; nil once the watch has ended. Otherwise, a watch and a handler that holds the watch in order to
    /// cancel it would keep each other alive.
    private(set) var handler: ((DescriptorEvents) -> Void)?
    private weak var loop: EventLoop?

    /// The events that the descriptor is watched for.
    public var events: DescriptorEvents {
        didSet { if events != oldValue { loop?.update(self) } }
    }

    /// Whether the loop watches the descriptor. A disabled watch costs nothing, and you can enable it again.
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

    /// Ends the watch. Its handler is not called again, even for an event that has already been seen.
    public func cancel() {
        guard handler != nil else { return }
        handler = nil
        loop?.remove(self)
    }
}
