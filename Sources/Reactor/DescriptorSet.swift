internal import CLinux
internal import Glibc
internal import SystemPackage

/// The watches of one loop, and the `epoll` instance that waits for their descriptors.
///
/// You may watch a descriptor more than once: a connection has one watch for reading and another for writing. The
/// kernel knows each descriptor once, with the events of all its enabled watches. While a descriptor has no enabled
/// watch, the kernel does not know it.
struct DescriptorSet: ~Copyable {
    private let epoll: CInt
    private var watches: [CInt: [DescriptorWatch]] = [:]
    /// Events that the kernel waits for, by descriptor. Descriptors that it refused are not included.
    private var known: [CInt: UInt32] = [:]
    /// Descriptors that the kernel refused to watch, such as closed ones. Their watches get an error.
    private var refused: Set<CInt> = []
    private var ready = [epoll_event](repeating: epoll_event(), count: Self.eventsPerWait)

    /// Maximum number of descriptors that one wait reports. The next wait begins with the others.
    private static let eventsPerWait = 64

    /// - Throws: The error from `epoll_create1(2)` if the process has no descriptor left.
    init() throws(Errno) {
        epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw Errno(rawValue: errno) }
    }

    deinit { close(epoll) }

    mutating func add(_ watch: DescriptorWatch) {
        watches[watch.descriptor, default: []].append(watch)
        update(watch.descriptor)
    }

    mutating func remove(_ watch: DescriptorWatch) {
        watches[watch.descriptor]?.removeAll { $0 === watch }
        if watches[watch.descriptor]?.isEmpty == true { watches[watch.descriptor] = nil }
        update(watch.descriptor)
    }

    /// Cancels all watches when the loop ends. Otherwise a watch and a handler that holds it would keep each other
    /// alive.
    func cancelAll() {
        for watch in watches.values.joined() { watch.cancel() }
    }

    /// Tells the kernel which events to wait for, after a watch of the descriptor has changed.
    mutating func update(_ descriptor: CInt) {
        refused.remove(descriptor)
        let enabled = watches[descriptor, default: []].filter(\.isEnabled)
        let events = enabled.reduce(into: UInt32(0)) { $0 |= $1.events.epoll }
        guard enabled.isEmpty || known[descriptor] != events else { return }
        var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
        guard !enabled.isEmpty else {
            // This call fails only if the descriptor is closed, and then the kernel has already forgotten it.
            if known.removeValue(forKey: descriptor) != nil { epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event) }
            return
        }
        let operation = known[descriptor] == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        if epoll_ctl(epoll, operation, descriptor, &event) == 0 {
            known[descriptor] = events
        } else {
            known[descriptor] = nil
            refused.insert(descriptor)
        }
    }

    /// Waits until a descriptor is ready, a signal arrives, or the time has passed.
    ///
    /// - Parameter milliseconds: The time to wait; -1 for no limit.
    /// - Returns: The watches that are ready, each with its events.
    mutating func wait(milliseconds: CInt) -> [(DescriptorWatch, DescriptorEvents)] {
        let count = Int(epoll_wait(epoll, &ready, CInt(ready.count), refused.isEmpty ? milliseconds : 0))
        // After a signal (`EINTR`), end the wait without an event, because the loop has to look for jobs and deadlines.
        guard count > 0 || !refused.isEmpty else { return [] }
        var found: [(DescriptorWatch, DescriptorEvents)] = []
        for event in ready.prefix(max(0, count)) {
            let events = DescriptorEvents(epoll: event.events)
            for watch in watches[event.data.fd, default: []] where watch.isEnabled {
                let relevant = events.intersection(watch.events.union([.hangup, .error]))
                if !relevant.isEmpty { found.append((watch, relevant)) }
            }
        }
        for descriptor in refused {
            found += watches[descriptor, default: []].filter(\.isEnabled).map { ($0, .error) }
        }
        return found
    }
}

extension DescriptorEvents {
    fileprivate var epoll: UInt32 {
        (contains(.readable) ? EPOLLIN.rawValue : 0) | (contains(.writable) ? EPOLLOUT.rawValue : 0)
            | (contains(.priority) ? EPOLLPRI.rawValue : 0)
    }

    fileprivate init(epoll bits: UInt32) {
        self = []
        if bits & EPOLLIN.rawValue != 0 { insert(.readable) }
        if bits & EPOLLOUT.rawValue != 0 { insert(.writable) }
        if bits & EPOLLPRI.rawValue != 0 { insert(.priority) }
        if bits & EPOLLHUP.rawValue != 0 { insert(.hangup) }
        if bits & EPOLLERR.rawValue != 0 { insert(.error) }
    }
}
