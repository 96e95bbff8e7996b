internal import DBus
internal import Logging
internal import SchemeRegistry

extension URLRouter {
    /// The time for which the router waits until the bus has read its service files.
    private static let reloadTimeout = Duration.seconds(10)

    /// Makes the bus read its service files again, if the bus does not know the service of a new handler.
    ///
    /// A bus notices changes by itself, but only in directories that existed when the bus read its configuration. dbus-daemon
    /// looks again when a program calls an unknown name; dbus-broker does not.
    func makeServicesActivatable() async {
        let services = Set(registry.publishedHandlers.map(\.id.rawValue))
        let new = services.subtracting(announcedServices)
        announcedServices = services
        guard !new.isEmpty else { return }
        do throws(CallError) {
            let known = Set(try await bus.activatableNames().map(\.rawValue))
            if !new.isSubset(of: known) { try await bus.reloadConfiguration(timeout: Self.reloadTimeout) }
        } catch {
            log.warning("the bus does not read its service files again: \(error)")
        }
    }
}
