package import DBus
package import OpenURLBus

extension WayToRouter {
    /// Claims a callback, and waits for the end of the claim. If the wait ends before the claim, the claim is dropped.
    ///
    /// - Parameters:
    ///   - path: the claim's handle.
    ///   - claim: makes the claim.
    /// - Returns: the content of `CallbackHandleInterface.completed`; nil if the router exits.
    package func waitForCallback(
        at path: ObjectPath,
        _ claim: @Sendable () async throws -> Void
    ) async throws -> Arguments<UInt32, String, CallbackDetails>? {
        let rule = MatchRule(sender: RouterService.name, path: path)
        let signals = try await connection.signals(CallbackHandleInterface.completed, matching: rule)
        let (owners, continuation) = AsyncStream<Never>.makeStream()
        let watch = try await connection.watchName(RouterService.name) { old, _ in
            if old != nil { continuation.finish() }
        }
        let end: Result<Arguments<UInt32, String, CallbackDetails>?, any Error>
        do {
            end = .success(
                try await withThrowingTaskGroup(of: Arguments<UInt32, String, CallbackDetails>?.self) { group in
                    group.addTask { await signals.first { _ in true }?.body }
                    group.addTask {
                        for await _ in owners {}
                        return nil
                    }
                    try await claim()
                    defer { group.cancelAll() }
                    return try await group.next() ?? nil
                }
            )
        } catch {
            end = .failure(error)
        }
        switch end {
        case .failure(CallError.remote): break
        case .success where !Task.isCancelled: break
        // The router may have made the claim, and nobody is waiting for its end any longer.
        case .success, .failure: await close(path)
        }
        do throws(CallError) {
            try await connection.unwatchName(watch)
        } catch {
            // A connection that has ended has no watches.
        }
        return try end.get()
    }

    /// Drops a claim. The connection keeps messages in order, so the router has already received the claim.
    private func close(_ path: ObjectPath) async {
        do throws(CallError) {
            let handle = RemoteObject(RouterService.name, path, startsService: false)
            try await connection.send(CallbackHandleInterface.close, on: handle, Empty())
        } catch {
            // The connection has ended, and so has the claim.
        }
    }
}
