/// The bus's own methods that a connection uses.
enum BusDriver {
    static let object = RemoteObject(.bus, "/org/freedesktop/DBus")
    static let interface: InterfaceName = "org.freedesktop.DBus"

    static let hello = Method<Empty, String>(interface, "Hello")
    static let requestName = Method<Arguments<String, UInt32>, UInt32>(interface, "RequestName")
    static let releaseName = Method<String, UInt32>(interface, "ReleaseName")
    static let getNameOwner = Method<String, String>(interface, "GetNameOwner")
    static let listNames = Method<Empty, [String]>(interface, "ListNames")
    static let startService = Method<Arguments<String, UInt32>, UInt32>(interface, "StartServiceByName")
    static let getCredentials = Method<String, [String: Value]>(interface, "GetConnectionCredentials")
    static let addMatch = Method<String, Empty>(interface, "AddMatch")
    static let removeMatch = Method<String, Empty>(interface, "RemoveMatch")

    /// The corresponding C constant is `DBUS_NAME_FLAG_DO_NOT_QUEUE`.
    static let doNotQueue: UInt32 = 4
    static let nameOwnerChanged = Signal<Arguments<String, String, String>>(
        interface,
        "NameOwnerChanged",
        arguments: ["name", "old_owner", "new_owner"]
    )

    static func ownerRule(_ name: BusName) -> String {
        MatchRule(sender: .bus, arguments: [0: name.rawValue]).text(nameOwnerChanged.interface, nameOwnerChanged.name)
    }
}

/// Who opened a connection, as the kernel told the bus when it did.
public struct Credentials: Sendable, Hashable {
    /// The process; by now it may have ended and its number been given away, so it is no proof by itself.
    public let pid: UInt32?
    /// The user.
    public let uid: UInt32?
    /// The process as a pidfd, which stays the same process's whatever becomes of its number. A bus gives one from
    /// dbus 1.15.8 and dbus-broker 34 on; nil where it does not.
    public let processDescriptor: UnixFD?
}

/// What became of a request for a name.
public enum NameRequest: Sendable, Hashable {
    /// This connection owns the name.
    case owned
    /// Another connection owns it.
    case taken
}

/// Called on the event loop when a name gets an owner, loses it or changes it.
public typealias NameOwnerHandler = @Sendable (_ old: BusName?, _ new: BusName?) -> Void

/// Names one watch of a bus name.
public struct NameWatchID: Sendable, Hashable {
    let name: BusName
    let number: UInt64
}

/// Who wants to know about which name, in the order in which they asked.
struct NameWatches {
    private var handlers: [BusName: [(id: NameWatchID, handler: NameOwnerHandler)]] = [:]
    private var lastNumber: UInt64 = 0

    mutating func add(_ name: BusName, _ handler: @escaping NameOwnerHandler) -> NameWatchID {
        lastNumber += 1
        let id = NameWatchID(name: name, number: lastNumber)
        handlers[name, default: []].append((id, handler))
        return id
    }

    /// - Returns: whether there was such a watch.
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
    /// Asks for a well-known name; export objects first, as calls come with the name.
    ///
    /// The name is not queued for and not taken from another owner.
    public func requestName(_ name: BusName) async throws(CallError) -> NameRequest {
        let input = Arguments(name.rawValue, BusDriver.doNotQueue)
        let answer = try await call(BusDriver.requestName, on: BusDriver.object, input)
        // DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER and DBUS_REQUEST_NAME_REPLY_ALREADY_OWNER.
        return answer == 1 || answer == 4 ? .owned : .taken
    }

    /// Gives a well-known name back; giving back one that is not owned does nothing.
    public func releaseName(_ name: BusName) async throws(CallError) {
        try await call(BusDriver.releaseName, on: BusDriver.object, name.rawValue)
    }

    /// The unique name of a name's owner; nil where there is none.
    public func owner(of name: BusName) async throws(CallError) -> BusName? {
        do throws(CallError) {
            return BusName(try await call(BusDriver.getNameOwner, on: BusDriver.object, name.rawValue))
        } catch .remote(let error) where error.name == .nameHasNoOwner {
            return nil
        }
    }

    /// All names that have an owner now, unique names among them.
    public func names() async throws(CallError) -> [BusName] {
        try await call(BusDriver.listNames, on: BusDriver.object, Empty()).compactMap { BusName($0) }
    }

    /// Has the bus start the service that owns a name, and returns when it owns it; at once if it does already.
    ///
    /// - Parameter timeout: the bus itself waits for minutes, so a shorter time is for the caller to set.
    /// - Throws: a ``CallError/remote(_:)`` of the bus's own: no service file has the name, or its program ended.
    public func startService(_ name: BusName, timeout: Duration) async throws(CallError) {
        try await call(BusDriver.startService, on: BusDriver.object, Arguments(name.rawValue, 0), timeout: timeout)
    }

    /// Who is behind a name, from the bus and not from the caller's own words.
    ///
    /// - Throws: a ``CallError/remote(_:)`` named ``ErrorName/nameHasNoOwner`` when nobody is any more.
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
    /// Changes and messages come in the order in which the bus sent them: an owner's answers come before its leaving.
    /// Watch first and ask for the owner then, and no change is missed.
    public func watchName(_ name: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) -> NameWatchID
    {
        let id = nameWatches.add(name, handler)
        do throws(CallError) {
            try await addMatch(BusDriver.ownerRule(name))
            return id
        } catch {
            _ = nameWatches.remove(id)
            throw error
        }
    }

    /// Ends a watch: from now on its handler is not called.
    public func unwatchName(_ watch: NameWatchID) throws(CallError) {
        guard nameWatches.remove(watch) else { return }
        try removeMatch(BusDriver.ownerRule(watch.name))
    }

    func nameOwnerChanged(_ name: BusName, _ old: BusName?, _ new: BusName?) {
        // A handler may end any watch, its own included.
        for id in nameWatches.ids(of: name) { nameWatches.handler(id)?(old, new) }
    }
}
