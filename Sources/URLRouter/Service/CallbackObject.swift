internal import DBus
internal import OpenURLBus

/// `org.openurl.Callbacks1`, and the handles' `org.openurl.Callback1`.
enum CallbackObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            CallbackInterface.name,
            [
                .method(CallbackInterface.request, of: router) { router, call, input in
                    let (url, pattern, options) = input.values
                    return try await router.callbackRequests.request(url, pattern, options, caller: call.sender)
                }
            ]
        )
    }

    static func handleInterface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            CallbackHandleInterface.name,
            [
                .method(CallbackHandleInterface.close, of: router) { router, call, _ in
                    try router.callbackRequests.close(at: call.path, caller: call.sender)
                    return Empty()
                },
                .signal(CallbackHandleInterface.completed),
                .signal(CallbackHandleInterface.refused),
            ]
        )
    }
}
