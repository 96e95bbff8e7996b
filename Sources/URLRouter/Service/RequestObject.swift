internal import DBus
internal import OpenURLBus

/// `org.openurl.Request1`: the handles of the requests, which are all paths below one.
enum RequestObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            RequestInterface.name,
            [
                .method(RequestInterface.cancel) { call, _ in
                    try await router.cancelRequest(at: call.path, caller: call.sender)
                    return Empty()
                },
                .signal(RequestInterface.progress),
            ]
        )
    }
}
