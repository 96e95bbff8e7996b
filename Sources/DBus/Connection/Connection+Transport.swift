internal import CDBus
internal import Reactor

/// The exchange of bytes between libdbus and the event loop.
///
/// libdbus opens and authenticates the connection, reads messages, and checks them. It names the descriptors to watch, and the
/// event loop reports when a descriptor is ready. This module takes each message that has arrived to
/// ``Connection/receive(_:)``, and writes messages to the socket itself. libdbus must send nothing then, so it does not
/// dispatch messages: it would answer some of them.
extension Connection {
    /// Connects libdbus's callbacks to this actor.
    ///
    /// - Returns: False if memory ran out. The connection has then ended.
    func attach() -> Bool {
        guard let raw else { return false }
        let pointer = Unmanaged.passRetained(self).toOpaque()
        dbus_connection_set_max_received_size(raw, limits.receivedBytes)
        // Without a free descriptor, libdbus would take a message with descriptors for the end of the connection.
        dbus_connection_set_max_received_unix_fds(raw, CLong(clamping: limits.descriptors))
        guard dbus_connection_set_watch_functions(raw, addWatch, removeWatch, toggleWatch, pointer, nil) != 0 else {
            disconnect(.disconnected)
            return false
        }
        dbus_connection_set_dispatch_status_function(raw, dispatchStatusChanged, pointer, nil)
        if dbus_connection_get_dispatch_status(raw) == DBUS_DISPATCH_DATA_REMAINS { scheduleDispatch() }
        return true
    }

    func detach(_ raw: OpaquePointer) {
        dbus_connection_set_watch_functions(raw, nil, nil, nil, nil, nil)
        dbus_connection_set_dispatch_status_function(raw, nil, nil, nil)
        watches.removeAll()
        endOutputWatch()
        dbus_connection_close(raw)
        while let message = dbus_connection_pop_message(raw) { dbus_message_unref(message) }
        dbus_connection_unref(raw)
        // This call balances the reference that attach() took for libdbus.
        Unmanaged.passUnretained(self).release()
    }

    fileprivate func add(_ watch: OpaquePointer) {
        let unchecked = LibraryPointer(pointer: watch)
        let handle: @Sendable (UInt32) -> Void = { [unowned self] flags in
            assumeIsolated { $0.handle(unchecked, flags) }
        }
        watches.add(watch, on: loop, handle)
    }

    /// Removes a watch, which libdbus does before it closes the socket.
    fileprivate func remove(_ watch: OpaquePointer) {
        watches.remove(watch)
        endOutputWatch()
    }

    private func endOutputWatch() {
        outputWatch?.cancel()
        outputWatch = nil
    }

    fileprivate func toggle(_ watch: OpaquePointer) { watches.toggle(watch) }

    private func handle(_ watch: LibraryPointer, _ flags: UInt32) {
        guard let raw else { return }
        isDispatching = true
        dbus_watch_handle(watch.pointer, flags)
        // libdbus reads a few messages at a time. While calls wait for their turn, more messages are read: the call of
        // another program may be behind the calls of a program that floods, and an answer that a call awaits, too.
        for _ in 0..<Self.readsPerTurn {
            guard takeMessages(raw), incomingCalls.waiting > 1, flags == DBUS_WATCH_READABLE.rawValue,
                watches.isEnabled(watch.pointer)
            else { break }
            dbus_watch_handle(watch.pointer, flags)
        }
        endDispatch()
    }

    /// The number of messages that are handled before other jobs of the loop get their turn.
    private static let messagesPerTurn = 64
    /// The number of times that libdbus reads in a turn while calls wait.
    private static let readsPerTurn = 16

    private func dispatch() {
        guard let raw else { return }
        isDispatching = true
        _ = takeMessages(raw)
        endDispatch()
    }

    /// Ends a turn, which may have ended the connection.
    private func endDispatch() {
        isDispatching = false
        if let authenticationTimer { forgetAuthenticationTimer(authenticationTimer) }
        // The messages may have waited for the end of the authentication.
        if writingIsScheduled || output.isEmpty { sendQueued() } else { write() }
        startCall()
    }

    /// Handles messages that libdbus has read.
    ///
    /// - Returns: Whether a message was handled and none is left.
    private func takeMessages(_ raw: OpaquePointer) -> Bool {
        var count = 0
        while count < Self.messagesPerTurn, let message = dbus_connection_pop_message(raw) {
            receive(message)
            dbus_message_unref(message)
            count += 1
        }
        switch dbus_connection_get_dispatch_status(raw) {
        case DBUS_DISPATCH_DATA_REMAINS: scheduleDispatch()
        case DBUS_DISPATCH_NEED_MEMORY:
            loop.schedule(at: .now + .milliseconds(10)) { self.assumeIsolated { $0.dispatch() } }
        default: return count > 0
        }
        return false
    }

    func scheduleDispatch() {
        guard !dispatchIsScheduled else { return }
        dispatchIsScheduled = true
        loop.execute {
            self.assumeIsolated { connection in
                connection.dispatchIsScheduled = false
                connection.dispatch()
            }
        }
    }

    /// Schedules the dispatch of messages that were read outside of a dispatch. Messages that are read while a watch is
    /// handled are dispatched right afterwards.
    fileprivate func dataRemains() {
        if !isDispatching { scheduleDispatch() }
    }
}

// MARK: libdbus's callbacks, all on the loop's thread

private func connection(_ data: UnsafeMutableRawPointer?) -> Connection? {
    data.map { Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
}

private let addWatch: DBusAddWatchFunction = { watch, data in
    guard let watch, let connection = connection(data) else { return 0 }
    let unchecked = LibraryPointer(pointer: watch)
    connection.assumeIsolated { $0.add(unchecked.pointer) }
    return 1
}

private let removeWatch: DBusRemoveWatchFunction = { watch, data in
    guard let watch, let connection = connection(data) else { return }
    let unchecked = LibraryPointer(pointer: watch)
    connection.assumeIsolated { $0.remove(unchecked.pointer) }
}

private let toggleWatch: DBusWatchToggledFunction = { watch, data in
    guard let watch, let connection = connection(data) else { return }
    let unchecked = LibraryPointer(pointer: watch)
    connection.assumeIsolated { $0.toggle(unchecked.pointer) }
}

private let dispatchStatusChanged: DBusDispatchStatusFunction = { _, status, data in
    guard status == DBUS_DISPATCH_DATA_REMAINS, let connection = connection(data) else { return }
    connection.assumeIsolated { $0.dataRemains() }
}
