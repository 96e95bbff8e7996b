internal import DBus
internal import Logging
internal import OpenURLBus

/// The router as a backend of xdg-desktop-portal, under a name and at a path of their own.
enum PortalChooserObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            AppChooserPortal.interface,
            [
                .method(AppChooserPortal.chooseApplication, of: router) { router, call, input in
                    let (handle, application, parentWindow, choices, options) = input.values
                    let question = PortalChooser.Question(
                        handle: handle,
                        application: application,
                        parentWindow: parentWindow,
                        choices: choices,
                        options: options
                    )
                    return try await router.portalChooser.answer(
                        question,
                        caller: call.sender,
                        bytes: call.argumentBytes,
                        abandon: call.cancelTask
                    )
                },
                // The router has no list of applications on the screen.
                .method(AppChooserPortal.updateChoices) { _, _ in Empty() },
            ]
        )
    }

    /// The handles of the portal's requests.
    static func requests(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            AppChooserPortal.requestInterface,
            [
                .method(AppChooserPortal.close, of: router) { router, call, _ in
                    try await router.portalChooser.close(call.path, caller: call.sender)
                    return Empty()
                }
            ]
        )
    }
}

extension RouterObject {
    /// Takes the name of a backend of xdg-desktop-portal if the bus knows a service of this name, which the optional package
    /// for the portal installs. Call this once the router's own name is owned.
    public func takePortalName() async {
        do throws(CallError) {
            guard try await connection.activatableNames().contains(AppChooserPortal.name) else { return }
            await connection.export([PortalChooserObject.interface(router)], at: AppChooserPortal.path)
            await connection.exportSubtree(
                [PortalChooserObject.requests(router)],
                below: AppChooserPortal.requests
            )
            guard try await connection.requestName(AppChooserPortal.name) == .owned else {
                return router.log.warning("another program already owns \(AppChooserPortal.name)")
            }
            await router.followPortal()
        } catch {
            router.log.warning("the router cannot serve the portal: \(error)")
        }
    }

    /// Releases the name again. Call this before the router's own name is released.
    public func releasePortalName() async throws {
        guard try await connection.owner(of: AppChooserPortal.name) == connection.uniqueName else { return }
        try await connection.releaseName(AppChooserPortal.name)
    }
}
