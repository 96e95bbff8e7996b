internal import Glibc

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

    fileprivate var poll: CShort {
        CShort((contains(.readable) ? POLLIN : 0) | (contains(.writable) ? POLLOUT : 0))
    }

    fileprivate init(poll: CShort) {
        let bits = CInt(poll)
        self = []
        if bits & POLLIN != 0 { insert(.readable) }
        if bits & POLLOUT != 0 { insert(.writable) }
        if bits & POLLHUP != 0 { insert(.hangup) }
        if bits & (POLLERR | POLLNVAL) != 0 { insert(.error) }
    }
}

/// A descriptor that an event loop watches, until ``cancel()``.
///
/// All of it belongs to the loop's thread. The loop keeps the watch alive, so dropping the last reference does not end it.
public final class DescriptorWatch {
    fileprivate let descriptor: CInt
    let handler: (DescriptorEvents) -> Void
    fileprivate var slot = -1
    private unowned let loop: EventLoop?

    /// What the descriptor is watched for.
    public var events: DescriptorEvents {
        didSet { loop?.update(self) }
    }

    /// Whether the descriptor is looked at; a disabled watch costs nothing and can be enabled again.
    public var isEnabled = true {
        didSet { if isEnabled != oldValue { loop?.update(self) } }
    }

    fileprivate(set) var isCancelled = false

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
        guard !isCancelled else { return }
        isCancelled = true
        loop?.update(self)
    }
}

/// The watches of one loop, as the array that `poll` takes.
///
/// libdbus watches one descriptor twice, for reading and for writing; `poll` takes both entries as they are. A disabled
/// watch keeps its place with a negative descriptor, which `poll` skips, so that enabling it again moves nothing.
struct DescriptorSet {
    private var entries: [pollfd] = []
    private var watches: [DescriptorWatch] = []

    mutating func add(_ watch: DescriptorWatch) {
        watch.slot = watches.count
        watches.append(watch)
        entries.append(pollfd())
        update(watch)
    }

    mutating func update(_ watch: DescriptorWatch) {
        guard watch.slot >= 0 else { return }
        guard watch.isCancelled else {
            entries[watch.slot] = pollfd(
                fd: watch.isEnabled ? watch.descriptor : -1,
                events: watch.events.poll,
                revents: 0
            )
            return
        }
        let last = watches.count - 1
        if watch.slot != last {
            watches[watch.slot] = watches[last]
            entries[watch.slot] = entries[last]
            watches[watch.slot].slot = watch.slot
        }
        watches.removeLast()
        entries.removeLast()
        watch.slot = -1
    }

    /// Waits until a descriptor is ready, or the time is over (-1: for ever).
    ///
    /// - Returns: the watches that are ready, with what for.
    mutating func wait(milliseconds: CInt) -> [(DescriptorWatch, DescriptorEvents)] {
        var count = Int(poll(&entries, nfds_t(entries.count), milliseconds))
        guard count > 0 else { return [] }
        var ready: [(DescriptorWatch, DescriptorEvents)] = []
        ready.reserveCapacity(count)
        for index in entries.indices where entries[index].revents != 0 {
            ready.append((watches[index], DescriptorEvents(poll: entries[index].revents)))
            count -= 1
            if count == 0 { break }
        }
        return ready
    }
}
