public import OpenURLBus

extension Application {
    /// Brings the handler that has sent a URL to the foreground again, because this handler has finished with the URL.
    ///
    /// In the task of ``ApplicationDelegate/application(_:open:sourceApplication:annotation:)``, and in every task that it starts
    /// except detached ones, the sender is that of the task's URL. In any other task the sender is that of the latest URL. The method
    /// returns when the router has begun: the sender may itself be waiting for the answer to the URL.
    ///
    /// - Parameter activationToken: the token that lets a window of the sender take the focus, as `xdg_activation_v1` of Wayland
    ///   gives it to the window in the foreground.
    /// - Throws: `OpenURLError` with the code `notAllowed` if this handler is not in the foreground, if the URL leads back no more, if
    ///   no handler has sent the URL, or if there is no router.
    public nonisolated func returnToSource(activationToken: String? = nil) async throws(OpenURLError) {
        guard let wayBack else { throw OpenURLError(.notAllowed, "there is no router that could return to the sender") }
        try await wayBack.take(ArrivedURL.current?.name ?? "", activationToken: activationToken)
    }
}

/// The way back to the sender of a URL, which is the router outside of tests.
package protocol WayBack: Sendable {
    /// Brings the sender of a request to the foreground again; for an empty name, that of the latest request.
    func take(_ request: String, activationToken: String?) async throws(OpenURLError)
}
