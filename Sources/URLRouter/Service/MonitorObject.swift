internal import DBus
internal import OpenURLBus

/// `org.openurl.Monitor1`: the requests as they happen, and the log.
enum MonitorObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            MonitorInterface.name,
            [
                .method(MonitorInterface.subscribe) { call, options in
                    try await router.subscribe(toRequests: options, call.sender)
                    return Empty()
                },
                .method(MonitorInterface.unsubscribe) { call, _ in
                    await router.unsubscribe(fromRequests: call.sender)
                    return Empty()
                },
                .method(MonitorInterface.log) { [router] call, filter in
                    try await router.querying(call.sender) { try await router.loggedRequests(filter) }
                },
                .signal(MonitorInterface.entries),
            ]
        )
    }
}
