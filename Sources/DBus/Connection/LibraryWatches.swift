internal import CDBus
internal import Reactor

/// The event loop's watches for the descriptors of one libdbus connection or server.
struct LibraryWatches {
    private var watches: [OpaquePointer: DescriptorWatch] = [:]

    /// Starts to watch a descriptor.
    ///
    /// - Parameters:
    ///   - watch: libdbus's watch.
    ///   - loop: The event loop.
    ///   - handle: A closure that is called with libdbus's flags when the descriptor is ready, and passes them to
    ///     libdbus.
    mutating func add(_ watch: OpaquePointer, on loop: EventLoop, _ handle: @escaping (_ flags: UInt32) -> Void) {
        let flags = dbus_watch_get_flags(watch)
        var events: DescriptorEvents = []
        if flags & DBUS_WATCH_READABLE.rawValue != 0 { events.insert(.readable) }
        if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { events.insert(.writable) }
        let descriptor = loop.watch(dbus_watch_get_unix_fd(watch), for: events) { ready in
            var flags: UInt32 = 0
            if ready.contains(.readable) { flags |= DBUS_WATCH_READABLE.rawValue }
            if ready.contains(.writable) { flags |= DBUS_WATCH_WRITABLE.rawValue }
            if ready.contains(.hangup) { flags |= DBUS_WATCH_HANGUP.rawValue }
            if ready.contains(.error) { flags |= DBUS_WATCH_ERROR.rawValue }
            handle(flags)
        }
        descriptor.isEnabled = dbus_watch_get_enabled(watch) != 0
        watches[watch] = descriptor
    }

    mutating func remove(_ watch: OpaquePointer) {
        watches.removeValue(forKey: watch)?.cancel()
    }

    func toggle(_ watch: OpaquePointer) {
        watches[watch]?.isEnabled = dbus_watch_get_enabled(watch) != 0
    }

    /// Whether libdbus wants to read or write. A watch that libdbus has removed wants nothing.
    func isEnabled(_ watch: OpaquePointer) -> Bool { watches[watch]?.isEnabled ?? false }

    /// Disables a watch until ``toggle(_:)``.
    func pause(_ watch: OpaquePointer) {
        watches[watch]?.isEnabled = false
    }

    mutating func removeAll() {
        for watch in watches.values { watch.cancel() }
        watches = [:]
    }
}
