/// The methods of the bus that a connection uses.
enum BusDriver {
    static let object = RemoteObject(.bus, "/org/freedesktop/DBus")
    static let interface: InterfaceName = "org.freedesktop.DBus"

    static let hello = Method<Empty, String>(interface, "Hello")
    static let requestName = Method<Arguments<String, UInt32>, UInt32>(interface, "RequestName")
    static let releaseName = Method<String, UInt32>(interface, "ReleaseName")
    static let getNameOwner = Method<String, String>(interface, "GetNameOwner")
    static let listNames = Method<Empty, [String]>(interface, "ListNames")
    static let listActivatableNames = Method<Empty, [String]>(interface, "ListActivatableNames")
    static let reloadConfig = Method<Empty, Empty>(interface, "ReloadConfig")
    static let startService = Method<Arguments<String, UInt32>, UInt32>(interface, "StartServiceByName")
    static let getCredentials = Method<String, [String: Value]>(interface, "GetConnectionCredentials")
    /// The bus of the D-Bus project has this method if it was built with statistics, as the distributions do.
    static let getStatistics = Method<String, [String: Value]>("org.freedesktop.DBus.Debug.Stats", "GetConnectionStats")
    static let addMatch = Method<String, Empty>(interface, "AddMatch")
    static let removeMatch = Method<String, Empty>(interface, "RemoveMatch")

    /// The corresponding C constant is `DBUS_NAME_FLAG_DO_NOT_QUEUE`.
    static let doNotQueue: UInt32 = 4
    static let nameOwnerChanged = Signal<Arguments<String, String, String>>(
        interface,
        "NameOwnerChanged",
        arguments: ["name", "old_owner", "new_owner"]
    )

    /// Returns the change of a name's owner that a signal reports; nil for any other signal.
    static func ownerChange(_ signal: Message) -> (name: BusName, old: BusName?, new: BusName?)? {
        guard signal.isSignal(nameOwnerChanged), signal.sender == .bus else { return nil }
        do throws(MessageDecodingError) {
            let change: Arguments<String, String, String> = try signal.contents(limit: 4096)
            return BusName(change.values.0).map { ($0, BusName(change.values.1), BusName(change.values.2)) }
        } catch {
            // Only the bus can have sent the signal, and the bus sends no other signal with this name.
            return nil
        }
    }

    /// The rule for the beginning and the end of any connection. It also applies to the other changes of names' owners.
    static let connectionRule = MatchRule(sender: .bus).text(nameOwnerChanged.interface, nameOwnerChanged.name)

    static func ownerRule(_ name: BusName) -> String {
        MatchRule(sender: .bus, arguments: [0: name.rawValue]).text(nameOwnerChanged.interface, nameOwnerChanged.name)
    }
}

/// The credentials of the process that opened a connection, as the kernel recorded them at that time.
public struct Credentials: Sendable, Hashable {
    /// The number of the process. The process may have ended and its number may have been reused, so the number proves
    /// nothing by itself.
    public let pid: UInt32?
    /// The number of the user.
    public let uid: UInt32?
    /// The process as a pidfd, which stands for the same process even if its number is reused.
    ///
    /// A bus gives a pidfd from dbus 1.15.8 and dbus-broker 34 on; nil from older versions.
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

/// The identity of one watch of a bus name.
public struct NameWatchID: Sendable, Hashable {
    /// The name that is watched.
    public let name: BusName
    let number: UInt64
}

/// The watches of bus names. The watches of each name are in the order in which they were added.
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
    /// Export objects before requesting a name, because calls arrive as soon as this connection owns the name. The
    /// request does not wait in the queue for the name, and does not take the name from another owner.
    public func requestName(_ name: BusName) async throws(CallError) -> NameRequest {
        let input = Arguments(name.rawValue, BusDriver.doNotQueue)
        let answer = try await call(BusDriver.requestName, on: BusDriver.object, input)
        // The values are DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER and DBUS_REQUEST_NAME_REPLY_ALREADY_OWNER.
        return answer == 1 || answer == 4 ? .owned : .taken
    }

    /// Gives a well-known name back. Does nothing if this connection does not own the name.
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

    /// Returns all names that the bus can start a service for, as far as the bus has read the service files.
    public func activatableNames() async throws(CallError) -> [BusName] {
        try await call(BusDriver.listActivatableNames, on: BusDriver.object, Empty()).compactMap { BusName($0) }
    }

    /// Makes the bus read its configuration and all service files again, and returns when the bus has read them.
    ///
    /// The bus serves nobody meanwhile: about 0.1 ms for each service file.
    ///
    /// - Parameter timeout: The time limit of the answer.
    public func reloadConfiguration(timeout: Duration) async throws(CallError) {
        _ = try await call(BusDriver.reloadConfig, on: BusDriver.object, Empty(), timeout: timeout)
    }

    /// Asks the bus to start the service that provides a name, and returns when the service owns the name.
    ///
    /// The method returns at once if the name already has an owner.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - timeout: The time limit. The bus itself waits for minutes, so callers usually choose a shorter time.
    /// - Throws: ``CallError``. The bus answers with a ``CallError/remote(_:)`` if no service file has the name, or if
    ///   the service ended before it owned the name.
    public func startService(_ name: BusName, timeout: Duration) async throws(CallError) {
        try await call(BusDriver.startService, on: BusDriver.object, Arguments(name.rawValue, 0), timeout: timeout)
    }

    /// Returns the credentials of a name's owner. They come from the bus, so the owner cannot forge them.
    ///
    /// - Throws: ``CallError``. The bus answers with a ``CallError/remote(_:)`` named ``ErrorName/nameHasNoOwner`` if
    ///   the name no longer has an owner.
    public func credentials(of name: BusName) async throws(CallError) -> Credentials {
        let answer = try await call(BusDriver.getCredentials, on: BusDriver.object, name.rawValue)
        func number(_ key: String) -> UInt32? {
            if case .uint32(let number) = answer[key] { number } else { nil }
        }
        let process: UnixFD? = if case .unixFD(let descriptor) = answer["ProcessFD"] { descriptor } else { nil }
        return Credentials(pid: number("ProcessID"), uid: number("UnixUserID"), processDescriptor: process)
    }

    /// Calls `handler` on the event loop each time the owner of a name changes, until ``unwatchName(_:)``.
    ///
    /// Without a bus, the only name that changes is that of the other end (``peerName``), which has no owner after the end.
    ///
    /// Changes and messages arrive in the order in which the bus sent them: the answers of an owner come before the
    /// news that the owner has exited. Watch a name before asking for its owner, so that no change is missed.
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
        calledNames.setOwner(of: name, new)
        if name.isUnique {
            if new == nil { incomingCalls.leave(name) }
            // A connection that has not followed the others from the beginning knows of no newest one.
            if let newest = newestConnection, let number = ConnectionNumber(name) {
                newestConnection = max(newest, number)
            }
        } else {
            followedNames?(name, new)
        }
        // A handler may end any watch, including its own, so each handler is looked up when its turn comes.
        for id in nameWatches.ids(of: name) { nameWatches.handler(id)?(old, new) }
    }
}
