internal import DBus
internal import OpenURLBus

/// `org.openurl.Monitor1`: the requests as they happen, and the log.
enum MonitorObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            MonitorInterface.name,
            [
                .method(MonitorInterface.subscribe, of: router) { router, call, options in
                    try await router.monitor.subscribe(call.sender, options)
                    return Empty()
                },
                .method(MonitorInterface.unsubscribe, of: router) { router, call, _ in
                    router.monitor.unsubscribe(call.sender)
                    return Empty()
                },
                .method(MonitorInterface.log, of: router) { router, call, filter in
                    try await router.callers.querying(call.sender) { try await router.monitor.entries(filter) }
                },
                .signal(MonitorInterface.entries),
            ]
        )
    }
}
