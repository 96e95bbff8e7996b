/// The credentials of the process that opened a connection, as the kernel recorded them at that time.
public struct Credentials: Sendable, Hashable {
    /// The process's number. It proves nothing by itself: the process may have exited, and its number may have been
    /// reused.
    public let pid: UInt32?
    /// The user's number.
    public let uid: UInt32?
    /// The process as a pidfd, which stands for the same process even if its number is reused.
    ///
    /// Buses have provided it since dbus 1.15.8 and dbus-broker 34; with older versions, it is nil.
    public let processDescriptor: UnixFD?

    /// Creates credentials that did not come from a bus.
    public init(pid: UInt32?, uid: UInt32?, processDescriptor: UnixFD? = nil) {
        self.pid = pid
        self.uid = uid
        self.processDescriptor = processDescriptor
    }
}

/// The result of a request for a name.
public enum NameRequest: Sendable, Hashable {
    /// This connection owns the name.
    case owned
    /// Another connection owns the name.
    case taken
}

/// A closure that is called on the event loop when a name gets, changes or loses its owner.
public typealias NameOwnerHandler = @Sendable (_ old: BusName?, _ new: BusName?) -> Void

/// The identity of a watch on a bus name.
public struct NameWatchID: Sendable, Hashable {
    /// The watched name.
    public let name: BusName
    let number: UInt64
}

/// The watches on bus names. Those on the same name are in the order in which they were added.
struct NameWatches {
    private var handlers: [BusName: [(id: NameWatchID, handler: NameOwnerHandler)]] = [:]
    private var lastNumber: UInt64 = 0

    mutating func add(_ name: BusName, _ handler: @escaping NameOwnerHandler) -> NameWatchID {
        lastNumber += 1
        let id = NameWatchID(name: name, number: lastNumber)
        handlers[name, default: []].append((id, handler))
        return id
    }

    /// Removes a watch.
    ///
    /// - Returns: Whether the watch existed.
    mutating func remove(_ id: NameWatchID) -> Bool {
        guard let index = handlers[id.name]?.firstIndex(where: { $0.id == id }) else { return false }
        handlers[id.name]?.remove(at: index)
        if handlers[id.name]?.isEmpty == true { handlers[id.name] = nil }
        return true
    }

    func ids(of name: BusName) -> [NameWatchID] {
        handlers[name]?.map(\.id) ?? []
    }

    func handler(_ id: NameWatchID) -> NameOwnerHandler? {
        handlers[id.name]?.first { $0.id == id }?.handler
    }
}

extension Connection {
    /// Requests a well-known name.
    ///
    /// Export objects before you request a name, because calls arrive as soon as this connection owns it. If another
    /// connection owns the name, the request neither waits in the queue for it nor takes it away.
    public func requestName(_ name: BusName) async throws(CallError) -> NameRequest {
        let input = Arguments(name.rawValue, BusDriver.doNotQueue)
        let answer = try await call(BusDriver.requestName, on: BusDriver.object, input)
        // These are DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER and DBUS_REQUEST_NAME_REPLY_ALREADY_OWNER.
        return answer == 1 || answer == 4 ? .owned : .taken
    }

    /// Releases a well-known name, if this connection owns it.
    public func releaseName(_ name: BusName) async throws(CallError) {
        try await call(BusDriver.releaseName, on: BusDriver.object, name.rawValue)
    }

    /// Returns the unique name of a name's owner; nil if the name has no owner.
    public func owner(of name: BusName) async throws(CallError) -> BusName? {
        do throws(CallError) {
            return BusName(try await call(BusDriver.getNameOwner, on: BusDriver.object, name.rawValue))
        } catch .remote(let error) where error.name == .nameHasNoOwner {
            return nil
        }
    }

    /// Returns all names that have an owner now, including unique names.
    public func names() async throws(CallError) -> [BusName] {
        try await call(BusDriver.listNames, on: BusDriver.object, Empty()).compactMap { BusName($0) }
    }

    /// Returns the names for which the bus can start a service, according to the service files that it has read.
    public func activatableNames() async throws(CallError) -> [BusName] {
        try await call(BusDriver.listActivatableNames, on: BusDriver.object, Empty()).compactMap { BusName($0) }
    }

    /// Makes the bus read its configuration and all service files again, and returns when it has done so.
    ///
    /// Meanwhile, the bus handles no messages. This takes about 0.1 ms per service file.
    ///
    /// - Parameter timeout: The time limit for the answer.
    public func reloadConfiguration(timeout: Duration) async throws(CallError) {
        _ = try await call(BusDriver.reloadConfig, on: BusDriver.object, Empty(), timeout: timeout)
    }

    /// Asks the bus to start the service that provides a name, and returns when the service owns the name.
    ///
    /// If the name already has an owner, this returns at once.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - timeout: The time limit. You usually want a short one, because the bus itself waits for minutes.
    /// - Throws: ``CallError``, which is a ``CallError/remote(_:)`` from the bus if no service file provides the name,
    ///   or if the service exited before it owned the name.
    public func startService(_ name: BusName, timeout: Duration) async throws(CallError) {
        try await call(BusDriver.startService, on: BusDriver.object, Arguments(name.rawValue, 0), timeout: timeout)
    }

    /// Returns the credentials of a name's owner. They come from the bus, so the owner cannot forge them.
    ///
    /// - Throws: ``CallError``, which is a ``CallError/remote(_:)`` named ``ErrorName/nameHasNoOwner`` if the name no
    ///   longer has an owner.
    public func credentials(of name: BusName) async throws(CallError) -> Credentials {
        let answer = try await call(BusDriver.getCredentials, on: BusDriver.object, name.rawValue)
        func number(_ key: String) -> UInt32? {
            if case .uint32(let number) = answer[key] { number } else { nil }
        }
        let process: UnixFD? = if case .unixFD(let descriptor) = answer["ProcessFD"] { descriptor } else { nil }
        return Credentials(pid: number("ProcessID"), uid: number("UnixUserID"), processDescriptor: process)
    }

    /// Calls `handler` on the event loop each time a name's owner changes, until ``unwatchName(_:)``.
    ///
    /// Without a bus, the only name whose owner changes is the other end's (``peerName``), which loses its owner when
    /// the connection ends.
    ///
    /// Changes and messages arrive in the order in which the bus sent them, so an owner's answers arrive before the
    /// news that it has exited. Watch a name before you ask for its owner; otherwise you may miss a change.
    public func watchName(_ name: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) -> NameWatchID
    {
        let id = nameWatches.add(name, handler)
        guard uniqueName != nil else { return id }
        do throws(CallError) {
            try await addMatch(BusDriver.ownerRule(name))
            return id
        } catch {
            _ = nameWatches.remove(id)
            throw error
        }
    }

    /// Ends a watch. Its handler is not called again.
    public func unwatchName(_ watch: NameWatchID) throws(CallError) {
        guard nameWatches.remove(watch), uniqueName != nil else { return }
        try removeMatch(BusDriver.ownerRule(watch.name))
    }

    func nameOwnerChanged(_ name: BusName, _ old: BusName?, _ new: BusName?) {
        pendingCalls.names.setOwner(of: name, new)
        if name.isUnique {
            if new == nil { server.calls.leave(name) }
            // A connection that has not followed the others from the beginning does not know the newest one.
            if let newest = newestConnection, let number = ConnectionNumber(name) {
                newestConnection = max(newest, number)
            }
        } else {
            followedNames?(name, new)
        }
        // A handler may end any watch, even its own, so look each one up when its turn comes.
        for id in nameWatches.ids(of: name) { nameWatches.handler(id)?(old, new) }
    }
}
