package import OpenURLBus
package import RFC1808

/// The router, as a relay uses it. Each request counts as one of the share's far side.
package protocol RelayedRouter: Sendable {
    /// Opens a URL. If the task is cancelled, so is the request.
    ///
    /// - Parameter started: called each time an application has been started with the URL, and the outcome is not known
    ///   yet; nil if only the outcome matters.
    func open(_ url: GenericURL, started: (@Sendable () -> Void)?) async throws(OpenURLError)
    /// Returns whether a URL might be opened.
    func canOpen(_ url: GenericURL) async throws(OpenURLError) -> Bool
    /// Opens a URL, and returns the callback that its `redirect_uri` stands for. If the task is cancelled, the wait ends.
    func callback(of url: GenericURL) async throws(OpenURLError) -> GenericURL
}
