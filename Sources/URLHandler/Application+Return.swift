public import OpenURLBus

extension Application {
    /// Brings the handler that sent a URL back to the foreground, because this handler has finished with the URL.
    ///
    /// If you call this in the task of ``ApplicationDelegate/application(_:open:sourceApplication:annotation:)``, or in
    /// a task that it starts and that is not detached, this returns to the sender of the task's URL. In any other task,
    /// it returns to the sender of the latest URL. The method returns as soon as the router has begun, because the
    /// sender may itself be waiting for the answer to the URL.
    ///
    /// - Parameter activationToken: the token that lets one of the sender's windows take the focus. Wayland's
    ///   `xdg_activation_v1` gives one to the window in the foreground.
    /// - Throws: `OpenURLError` with the code `notAllowed` if this handler is not in the foreground, if it is too late
    ///   to return from the URL, if no handler sent the URL, or if there is no router.
    public nonisolated func returnToSource(activationToken: String? = nil) async throws(OpenURLError) {
        guard let wayBack else { throw OpenURLError(.notAllowed, "there is no router to switch back to the sender") }
        try await wayBack.take(ArrivedURL.current?.name ?? "", activationToken: activationToken)
    }
}

/// The way back to a URL's sender. Outside tests, this is the router.
package protocol WayBack: Sendable {
    /// Brings a request's sender back to the foreground. An empty ID stands for the latest request.
    func take(_ request: String, activationToken: String?) async throws(OpenURLError)
}
