extension Connection {
    /// Exports an object with these interfaces. Other programs can call the object at once.
    ///
    /// The interfaces `Introspectable`, `Properties` and `Peer` are added automatically. You can add more interfaces to
    /// the same path later; an interface replaces an earlier one with the same name. The connection drops all of them
    /// when it ends, so their methods may hold the connection.
    public func export(_ interfaces: [ExportedInterface], at path: ObjectPath) {
        guard state == .open else { return }
        server.objects.add(interfaces, at: path)
    }

    /// Removes an object with all its interfaces. Calls that have begun continue.
    public func unexport(_ path: ObjectPath) {
        server.objects.remove(path)
    }

    /// Removes all objects. Calls that have begun continue.
    public func unexportAll() {
        server.objects = ObjectTree()
    }

    /// Exports one object for all paths below a path. Its methods get the path from ``IncomingCall/path``.
    ///
    /// If several subtrees contain a path, the one with the longest path answers. An object at the path itself comes
    /// first.
    ///
    /// Introspecting the path lists no names below it, so a caller cannot find out which of them exist. If you export
    /// another subtree at the same path, it replaces this one.
    public func exportSubtree(_ interfaces: [ExportedInterface], below path: ObjectPath) {
        guard state == .open else { return }
        server.objects.addSubtree(interfaces, below: path)
    }

    /// From now on, counts a sender's calls, including earlier ones, towards an account.
    ///
    /// Until then, each sender has its own account. For each of the ``ConnectionLimits``, one account gets at most half
    /// of what is left. A sender is ignored if it has not called one of this connection's objects, or has left the bus.
    ///
    /// - Parameters:
    ///   - account: The account, for example the program that the sender belongs to.
    ///   - isPaced: Whether the account may start only a limited number of calls per second: 1,000 on this connection.
    ///     Further calls wait.
    ///   - sender: The sender's unique name.
    /// - Returns: False if the sender was ignored.
    @discardableResult
    public func setAccount(_ account: String, isPaced: Bool = false, of sender: BusName) -> Bool {
        server.calls.setAccount(account, isPaced: isPaced, of: sender)
    }

    /// Makes the bus report when any connection begins or ends, with one rule for all of them.
    ///
    /// From then on, when a sender leaves the bus, its calls release what they use; ``newestConnection`` is also known.
    /// Otherwise, each call releases it with its answer. If there are many senders, this connection then forgets those
    /// without unanswered calls, together with their accounts.
    ///
    /// The cost is that each connection that any program opens wakes this one twice, so only a service with many
    /// callers should follow them. Does nothing without a bus. If this fails, you can call it again.
    ///
    /// - Parameter ownerChanged: Called on the event loop each time a well-known name gets, changes or loses its owner.
    public func followConnections(
        _ ownerChanged: (@Sendable (_ name: BusName, _ new: BusName?) -> Void)? = nil
    ) async throws(CallError) {
        guard let uniqueName, newestConnection == nil else { return }
        followedNames = ownerChanged
        newestConnection = ConnectionNumber(uniqueName)
        server.calls.learnsWhoLeaves = true
        do throws(CallError) {
            try await addMatch(BusDriver.connectionRule)
        } catch {
            followedNames = nil
            newestConnection = nil
            server.calls.learnsWhoLeaves = false
            throw error
        }
    }

    /// Waits until every call that has arrived has its answer, or until the task is cancelled.
    ///
    /// It does not wait for calls that have not started because their senders do not read earlier answers. Otherwise,
    /// such a program could keep a service from exiting. On a bus, it gives these programs five seconds. Without a bus,
    /// it looks every five seconds, and stops waiting if the other end has read almost nothing (less than one of the
    /// kernel's buffers, about 32 KiB) since the last look, or has left a lot unread for a minute.
    ///
    /// Do not call this in an exported method, which would wait for its own answer until the connection ends. Wait in
    /// another task instead.
    public func waitUntilAnswered() async {
        server.beginWait(on: self)
        await wait(for: .answered)
        server.endWait(on: self)
    }
}
