internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// Starting a handler without a URL.
extension URLRouter {
    /// Starts a handler if it does not run, and asks it to show itself; returns when it has.
    ///
    /// The wish waits in the handler's queue like a URL: what came before it is handed over before.
    func activate(_ id: BundleIdentifier, caller: BusName?) async throws(OpenURLError) {
        guard let handler = registry[id], handler.program != nil else {
            throw OpenURLError(.noHandler, "no handler is registered as \(id); 'openurl list' shows all that are")
        }
        let session = session(for: handler)
        lastNumber += 1
        let timeout = handler.manifest.openTimeout ?? limits.openTimeout
        let request = OpenRequest(
            number: lastNumber,
            url: nil,
            caller: caller,
            timeout: timeout,
            options: OpenOptions()
        )
        request.context = OpenContext()
        defer { end(request, session) }
        session.enqueue(request)
        _ = try await deliver(request, session)
    }
}
