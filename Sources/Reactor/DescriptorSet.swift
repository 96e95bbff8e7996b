internal import CLinux
internal import Glibc

/// The watches of one loop, kept as the array that `poll` takes, with one entry for each descriptor.
///
/// You may watch a descriptor more than once: a connection has one watch for reading and another for writing. Because
/// `poll` refuses more entries than the process may have descriptors, watches of the same descriptor share an entry. If
/// all of them are disabled, the entry stays in the array with a negative descriptor, which `poll` skips.
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

    /// Cancels all watches when the loop ends. Otherwise a watch and a handler that holds it would keep each other
    /// alive.
    func cancelAll() {
        for watch in watches.joined() { watch.cancel() }
    }

    /// Updates the entry of a descriptor after one of its watches has changed.
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

    /// Waits until a descriptor is ready, a signal arrives, or the time has passed.
    ///
    /// - Parameter milliseconds: The time to wait; -1 for no limit.
    /// - Returns: The watches that are ready, each with its events.
    mutating func wait(milliseconds: CInt) -> [(DescriptorWatch, DescriptorEvents)] {
        var count = Int(poll(&entries, nfds_t(entries.count), milliseconds))
        // After a signal (`EINTR`), end the wait without an event, because the loop has to look for jobs and deadlines.
        if count < 0, errno != EINTR { count = pollEach(milliseconds) }
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

extension DescriptorSet {
    /// Polls each descriptor by itself, after a pause of at most 20 ms.
    ///
    /// Use this if `poll` refuses all descriptors at once, because the process watches more descriptors than its limit,
    /// which was lowered later (`EINVAL`), or because the kernel lacks memory (`ENOMEM`). The pause keeps the loop from
    /// spinning.
    ///
    /// - Returns: The number of descriptors that are ready.
    private mutating func pollEach(_ milliseconds: CInt) -> Int {
        let pause: CInt = 20
        poll(nil, 0, milliseconds < 0 ? pause : min(milliseconds, pause))
        var count = 0
        for index in entries.indices {
            var entry = entries[index]
            entry.revents = 0
            if poll(&entry, 1, 0) > 0 { count += 1 }
            entries[index] = entry
        }
        return count
    }
}

extension DescriptorEvents {
    fileprivate var poll: CShort {
        CShort(
            (contains(.readable) ? POLLIN : 0) | (contains(.writable) ? POLLOUT : 0)
                | (contains(.priority) ? POLLPRI : 0)
        )
    }

    fileprivate init(poll: CShort) {
        let bits = CInt(poll)
        self = []
        if bits & POLLIN != 0 { insert(.readable) }
        if bits & POLLOUT != 0 { insert(.writable) }
        if bits & POLLPRI != 0 { insert(.priority) }
        if bits & POLLHUP != 0 { insert(.hangup) }
        if bits & (POLLERR | POLLNVAL) != 0 { insert(.error) }
    }
}
