internal import DBus
internal import OpenURLBus

/// Handles the calls about URLs in the queue. A program of the user may see all queued URLs, and any other program only
/// its own.
///
/// It belongs to the router's actor.
final class QueueCalls {
    /// Nil if there is nowhere to store URLs.
    private let deliveries: DeliveryScheduler?
    private let callers: Callers

    init(_ deliveries: DeliveryScheduler?, _ callers: Callers) {
        self.deliveries = deliveries
        self.callers = callers
    }

    /// Returns a page of the queued URLs.
    func list(after id: String, caller name: BusName?) async throws(RemoteError) -> [QueuedURL] {
        guard let deliveries else { return [] }
        let caller = await callers.caller(name)
        let account = ownAccount(of: caller)
        guard let start = id.isEmpty ? .min : Int64(id) else { throw .noSuchDelivery(id) }
        var urls = try await asking { () async throws(DeliveryStoreError) in
            try await deliveries.store.list(after: start, of: account, limit: QueueInterface.pageSize)
        }
        for index in urls.indices where Int64(urls[index].id).map(deliveries.waiting.isInProgress) == true {
            urls[index].state = .delivering
            urls[index].next = nil
        }
        guard caller.callerClass.isConfined else { return urls }
        for index in urls.indices {
            let error = urls[index].error.flatMap { OpenURLError($0) }
            urls[index].error = error?.forConfinedCallers.dbusError
        }
        return urls
    }

    /// Tries a delivery now, with a fresh set of attempts.
    func retry(_ id: String, caller: BusName?) async throws(RemoteError) {
        guard let deliveries else { throw .noSuchDelivery(id) }
        let number = try await delivery(id, of: await callers.caller(caller), in: deliveries)
        let exists = try await asking { () async throws(DeliveryStoreError) in try await deliveries.retry(number) }
        guard exists else { throw .noSuchDelivery(id) }
    }

    /// Forgets a delivery. Unless a handler has the URL already, none gets it after this.
    func drop(_ id: String, caller: BusName?) async throws(RemoteError) {
        guard let deliveries else { throw .noSuchDelivery(id) }
        let number = try await delivery(id, of: await callers.caller(caller), in: deliveries)
        let existed = try await asking { () async throws(DeliveryStoreError) in try await deliveries.drop(number) }
        guard existed else { throw .noSuchDelivery(id) }
    }

    /// Returns the outcome of a queued URL. Waits for it if necessary.
    func outcome(of id: String, caller name: BusName?) async throws -> OpenResult {
        guard let deliveries else { throw RemoteError.noSuchDelivery(id) }
        let caller = await callers.caller(name)
        do {
            let number = try await delivery(id, of: caller, in: deliveries)
            return try await deliveries.outcomes.outcome(of: number, for: name, countedTo: caller.account)
        } catch let error as OpenURLError {
            throw caller.callerClass.isConfined ? error.forConfinedCallers : error
        }
    }

    // If a caller is limited to an account, the queue reveals nothing to it about other accounts, not even that a
    // number exists.

    /// Returns the number of a delivery to which a caller has a right.
    private func delivery(
        _ text: String,
        of caller: Caller,
        in deliveries: DeliveryScheduler
    ) async throws(RemoteError) -> Int64 {
        guard let id = Int64(text) else { throw .noSuchDelivery(text) }
        guard let account = ownAccount(of: caller) else { return id }
        let owner = try await asking { () async throws(DeliveryStoreError) in
            try await deliveries.store.caller(of: id)
        }
        guard owner == account else { throw .noSuchDelivery(text) }
        return id
    }

    /// Returns the account to which a caller's rights to the queue are limited; nil if they are not limited.
    private func ownAccount(of caller: Caller) -> String? {
        if caller.callerClass == .user { return nil }
        // All sandboxes without an identifier share an account. Because they cannot be told apart, none of them owns a
        // URL.
        return caller.source.application == nil ? "" : caller.account
    }
}

extension RemoteError {
    static func noSuchDelivery(_ text: String) -> RemoteError {
        RemoteError(.invalidArguments, "there is no URL '\(text)' in the queue")
    }
}
