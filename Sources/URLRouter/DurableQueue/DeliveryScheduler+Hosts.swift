internal import DBus
internal import OpenURLBus

/// Deliveries to other hosts.
extension DeliveryScheduler {
    /// Returns the name of this queue among those of all hosts.
    func identity() async throws(OpenURLError) -> String {
        do throws(DeliveryStoreError) {
            return try await store.identity()
        } catch {
            throw OpenURLError(.notQueued, error.description)
        }
    }

    /// Returns how many URLs wait for each host.
    func waitingForHosts() async throws(RemoteError) -> [String: Int] {
        try await asking { () async throws(DeliveryStoreError) in
            try await store.counts(ofHandlersWith: Hosts.handlerMark)
        }
    }
}
