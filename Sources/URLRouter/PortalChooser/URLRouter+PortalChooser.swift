internal import DBus

extension URLRouter {
    /// Becomes a backend of xdg-desktop-portal if the optional package for the portal is installed. Call this once the
    /// router's own name is owned.
    public func takePortalName() async {
        await portalBackend.takeName(
            PortalChooserObject.interface(self),
            requests: PortalChooserObject.requests(self)
        )
    }

    /// Stops being a backend of xdg-desktop-portal. Call this before the router's own name is released.
    public func releasePortalName() async throws { try await portalBackend.releaseName() }
}
