internal import DBus
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
