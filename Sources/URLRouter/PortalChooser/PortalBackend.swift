internal import DBus
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry

/// The router's name as a backend of xdg-desktop-portal. As long as the router has it, the portal asks about the links
/// that are the router's.
///
/// This belongs to the router's actor.
final class PortalBackend {
    /// Nil without a bus.
    private let connection: Connection?
    private let handlers: KnownHandlers
    private let tasks: RouterTasks
    private let log: Logger
    /// The schemes about which the portal asks; nil while the router does not serve it.
    private var schemes: PortalSchemes?

    init(_ connection: Connection?, _ handlers: KnownHandlers, _ tasks: RouterTasks, log: Logger) {
        self.connection = connection
        self.handlers = handlers
        self.tasks = tasks
        self.log = log
    }

    /// Takes the name if the bus knows a service of this name, which the optional package for the portal installs.
    ///
    /// - Parameters:
    ///   - chooser: the interface that the portal asks.
    ///   - requests: the interface of the handles of its questions.
    func takeName(_ chooser: ExportedInterface, requests: ExportedInterface) async {
        guard let connection else { return }
        do throws(CallError) {
            guard try await connection.activatableNames().contains(AppChooserPortal.name) else { return }
            await connection.export([chooser], at: AppChooserPortal.path)
            await connection.exportSubtree([requests], below: AppChooserPortal.requests)
            guard try await connection.requestName(AppChooserPortal.name) == .owned else {
                return log.warning("another program already owns \(AppChooserPortal.name)")
            }
            schemes = PortalSchemes(connection, log: log)
            registryChanged()
        } catch {
            log.warning("the router cannot serve the portal: \(error)")
        }
    }

    /// Releases the name again.
    func releaseName() async throws(CallError) {
        guard let connection, try await connection.owner(of: AppChooserPortal.name) == connection.uniqueName else {
            return
        }
        try await connection.releaseName(AppChooserPortal.name)
    }

    /// Makes the portal ask about the links that are now the router's.
    func registryChanged() {
        guard let schemes else { return }
        let routed = handlers.registry.routedSchemes
        tasks.start { await schemes.use(routed) }
    }
}
