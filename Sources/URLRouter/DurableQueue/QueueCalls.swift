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
        var urls = try await deliveries.list(after: id, of: ownAccount(of: caller))
        guard caller.callerClass.isConfined else { return urls }
        for index in urls.indices {
            let error = urls[index].error.flatMap { OpenURLError($0) }
            urls[index].error = error?.forConfinedCallers.dbusError
        }
        return urls
    }

    func retry(_ id: String, caller: BusName?) async throws(RemoteError) {
        guard let deliveries else { throw .noSuchDelivery(id) }
        try await deliveries.retry(id, of: ownAccount(of: await callers.caller(caller)))
    }

    func drop(_ id: String, caller: BusName?) async throws(RemoteError) {
        guard let deliveries else { throw .noSuchDelivery(id) }
        try await deliveries.drop(id, of: ownAccount(of: await callers.caller(caller)))
    }

    /// Returns the outcome of a queued URL. Waits for it if necessary.
    func outcome(of number: UInt64, caller name: BusName?) async throws -> OpenResult {
        guard let deliveries else { throw RemoteError.noSuchDelivery("\(number)") }
        let caller = await callers.caller(name)
        do {
            return try await deliveries.outcome(
                of: number,
                ownAccount(of: caller),
                for: name,
                countedTo: caller.account
            )
        } catch let error as OpenURLError {
            throw caller.callerClass.isConfined ? error.forConfinedCallers : error
        }
    }

    /// Returns the account to which a caller's rights to the queue are limited; nil if they are not limited.
    private func ownAccount(of caller: Caller) -> String? {
        if caller.callerClass == .user { return nil }
        // All sandboxes without an identifier share an account. Because they cannot be told apart, none of them owns a
        // URL.
        return caller.source.application == nil ? "" : caller.account
    }
}
