internal import Glibc

/// The watches of one loop, as the array that `poll` takes: one entry a descriptor.
///
/// A library may watch one descriptor more than once (libdbus does, for reading and for writing). `poll` refuses more
/// entries than the process may have descriptors, so watches of the same descriptor share one. A descriptor that nobody
/// looks at for the moment keeps its place with a negative number, which `poll` skips.
struct DescriptorSet {
    private var entries: [pollfd] = []
    private var watches: [[DescriptorWatch]] = []
    private var slots: [CInt: Int] = [:]

    mutating func add(_ watch: DescriptorWatch) {
        if let slot = slots[watch.descriptor] {
            watches[slot].append(watch)
        } else {
            slots[watch.descriptor] = entries.count
            entries.append(pollfd())
            watches.append([watch])
        }
        update(watch.descriptor)
    }

    mutating func remove(_ watch: DescriptorWatch) {
        guard let slot = slots[watch.descriptor] else { return }
        watches[slot].removeAll { $0 === watch }
        guard watches[slot].isEmpty else {
            update(watch.descriptor)
            return
        }
        slots[watch.descriptor] = nil
        let last = entries.count - 1
        if slot != last {
            slots[watches[last][0].descriptor] = slot
            entries.swapAt(slot, last)
            watches.swapAt(slot, last)
        }
        entries.removeLast()
        watches.removeLast()
    }

    /// Takes over what the watches of a descriptor look for now.
    mutating func update(_ descriptor: CInt) {
        guard let slot = slots[descriptor] else { return }
        var events: DescriptorEvents = []
        var isEnabled = false
        for watch in watches[slot] where watch.isEnabled {
            events.formUnion(watch.events)
            isEnabled = true
        }
        entries[slot] = pollfd(fd: isEnabled ? descriptor : -1, events: events.poll, revents: 0)
    }

    /// Waits until a descriptor is ready, a signal arrives, or the time is over (-1: for ever).
    ///
    /// - Returns: the watches that are ready, with what for.
    mutating func wait(milliseconds: CInt) -> [(DescriptorWatch, DescriptorEvents)] {
        var count = Int(poll(&entries, nfds_t(entries.count), milliseconds))
        if count < 0, errno != EINTR {
            // The process may have fewer descriptors than it watches since its limit was lowered. It cannot wait for any of
            // them, and must not spin until the limit is raised again.
            poll(nil, 0, milliseconds < 0 ? 100 : min(milliseconds, 100))
        }
        guard count > 0 else { return [] }
        var ready: [(DescriptorWatch, DescriptorEvents)] = []
        ready.reserveCapacity(2 * count)
        for index in entries.indices where entries[index].revents != 0 {
            let events = DescriptorEvents(poll: entries[index].revents)
            for watch in watches[index] where watch.isEnabled {
                let relevant = events.intersection(watch.events.union([.hangup, .error]))
                if !relevant.isEmpty { ready.append((watch, relevant)) }
            }
            count -= 1
            if count == 0 { break }
        }
        return ready
    }
}

extension DescriptorEvents {
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
