internal import DBus
internal import UserFiles

/// Why the store cannot do something.
struct DeliveryStoreError: Error, Hashable, CustomStringConvertible {
    let path: String
    let reason: String
    /// Whether the store is as full as it may be.
    var isFull = false

    var description: String { "the queue \(printable(path)) cannot be used: \(reason)" }
}

/// Asks the store for a caller on the bus, who learns why it cannot be used.
func asking<Result: Sendable>(
    _ body: () async throws(DeliveryStoreError) -> Result
) async throws(RemoteError) -> Result {
    do throws(DeliveryStoreError) {
        return try await body()
    } catch {
        throw RemoteError(.failed, error.description)
    }
}
