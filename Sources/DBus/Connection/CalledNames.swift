/// The owners of the well-known names that a connection calls.
///
/// A session bus delivers answers that were never requested, and serials are easy to guess. So an answer counts only if
/// it comes from the connection that was called. For a well-known name, that is any connection that owned the name
/// between the call and the answer. To learn the owners, the connection subscribes to changes of the name's owner and
/// asks for the owner before the first call. Because the bus handles all messages in order, the owner is known before
/// any answer.
struct CalledNames {
    private struct Entry {
        var owner: BusName?
        /// Earlier owners that may still answer one of the unanswered calls, the latest last.
        var formerOwners: [BusName] = []
        var unansweredCalls = 0
    }

    private var entries: [BusName: Entry] = [:]

    /// Number of names to remember. Above this, a name without unanswered calls is forgotten.
    private static let limit = 16
    /// Number of earlier owners that may still answer. A name changes owners once during a call, if at all.
    private static let formerOwnersLimit = 4

    var count: Int { entries.count }

    /// Records the beginning of a call.
    ///
    /// - Returns: Whether the connection has to subscribe to the name first.
    mutating func beginCall(of name: BusName) -> Bool {
        let isNew = entries[name] == nil
        entries[name, default: Entry()].unansweredCalls += 1
        return isNew
    }

    /// The owner of a name; nil if it has none, or if its owner is not known.
    func owner(of name: BusName) -> BusName? { entries[name]?.owner }

    /// Forgets a name.
    mutating func remove(_ name: BusName) {
        entries[name] = nil
    }

    /// Records the end of a call. Has no effect if the connection does not follow the name.
    mutating func endCall(of name: BusName) {
        guard var entry = entries[name] else { return }
        entry.unansweredCalls -= 1
        if entry.unansweredCalls == 0 { entry.formerOwners = [] }
        entries[name] = entry
    }

    /// Records a name's owner, if this connection calls the name.
    mutating func setOwner(of name: BusName, _ owner: BusName?) {
        guard let former = entries[name]?.owner, former != owner else {
            entries[name]?.owner = owner
            return
        }
        entries[name]?.owner = owner
        guard entries[name]?.unansweredCalls != 0 else { return }
        entries[name]?.formerOwners.append(former)
        if entries[name]?.formerOwners.count ?? 0 > Self.formerOwnersLimit { entries[name]?.formerOwners.removeFirst() }
    }

    /// Returns whether an answer comes from the connection that was called, or from the bus on its behalf.
    func isAnswer(_ message: Message, to destination: BusName?) -> Bool {
        guard let destination else { return true }
        guard let sender = message.sender else { return false }
        if sender == .bus || sender == destination { return true }
        guard let entry = entries[destination] else { return false }
        return entry.owner == sender || entry.formerOwners.contains(sender)
    }

    /// Forgets a name without unanswered calls, if there are too many names.
    ///
    /// - Returns: The name, so that the connection can unsubscribe from it.
    mutating func popIdle() -> BusName? {
        guard entries.count > Self.limit, let idle = entries.first(where: { $0.value.unansweredCalls == 0 })?.key
        else { return nil }
        entries[idle] = nil
        return idle
    }
}

extension CalledNames {
    /// Records a connection's call to a name. If the call is the first, asks the bus for the name's owner and for
    /// changes of owner.
    static func follow(_ name: BusName, on connection: isolated Connection) {
        guard connection.uniqueName != nil, name.changesOwner, connection.pendingCalls.names.beginCall(of: name)
        else { return }
        request(BusDriver.addMatch, BusDriver.ownerRule(name), on: connection) { connection, added in
            // Without the rule, the connection would ignore the answers of a later owner.
            if case .failure(let error) = added { giveUp(name, error, on: connection) }
        }
        request(BusDriver.getNameOwner, name.rawValue, on: connection) { connection, owner in
            switch owner {
            case .success(let owner): connection.pendingCalls.names.setOwner(of: name, BusName(owner))
            // Once the service runs, the bus reports its owner.
            case .failure(.remote(let error)) where error.name == .nameHasNoOwner: break
            case .failure(let error):
                removeRule(of: name, on: connection)
                giveUp(name, error, on: connection)
            }
        }
        if let idle = connection.pendingCalls.names.popIdle() { removeRule(of: idle, on: connection) }
    }

    private static func removeRule(of name: BusName, on connection: isolated Connection) {
        do throws(CallError) {
            try connection.send(BusDriver.removeMatch, on: BusDriver.object, BusDriver.ownerRule(name))
        } catch {
            // The connection has ended, and the bus has removed its rules.
        }
    }

    /// Forgets a name, and ends its calls, whose answers could not be recognised.
    private static func giveUp(_ name: BusName, _ error: CallError, on connection: isolated Connection) {
        for number in connection.pendingCalls.forget(name) { connection.fail(number, error) }
    }

    /// Calls one of the bus's methods ahead of other calls, without suspending the caller.
    private static func request<Output: MessageBody>(
        _ method: Method<String, Output>,
        _ input: String,
        on connection: isolated Connection,
        _ complete: @escaping @Sendable (isolated Connection, Result<Output, CallError>) -> Void
    ) {
        let limits = connection.limits
        do throws(CallError) {
            let message = try WrittenMessage.call(method, on: BusDriver.object, input, limit: limits.callSize)
            connection.begin(message, .bus, connection.pendingCalls.nextNumber(), nil) { answer in
                let result: Result<Output, CallError> = answer.flatMap { $0.result(limit: limits.messageBytes) }
                connection.assumeIsolated { complete($0, result) }
            }
        } catch {
            complete(connection, .failure(error))
        }
    }
}

extension BusName {
    /// Whether this name's owner can change, because connections take and release the name.
    var changesOwner: Bool { !isUnique && self != .bus }
}
