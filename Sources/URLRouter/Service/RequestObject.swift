internal import DBus
internal import OpenURLBus

/// `org.openurl.Request1`: the requests' handles, at all paths below one path.
enum RequestObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            RequestInterface.name,
            [
                .method(RequestInterface.cancel, of: router) { router, call, _ in
                    try router.handles.handle(at: call.path, for: call.sender).cancel()
                    return Empty()
                },
                .signal(RequestInterface.progress),
                .signal(RequestInterface.started),
            ]
        )
    }
}
