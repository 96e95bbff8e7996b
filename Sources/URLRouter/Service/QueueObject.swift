internal import DBus
internal import OpenURLBus

/// `org.openurl.Queue1`: the URLs that wait for their delivery.
enum QueueObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            QueueInterface.name,
            [
                .method(QueueInterface.list) { call, id in
                    try await router.queuedURLs(after: id, caller: call.sender)
                },
                .method(QueueInterface.retry) { call, id in
                    try await router.retryQueued(id, caller: call.sender)
                    return Empty()
                },
                .method(QueueInterface.drop) { call, id in
                    try await router.dropQueued(id, caller: call.sender)
                    return Empty()
                },
                .method(QueueInterface.wait) { call, id in
                    try await router.outcome(ofQueued: id, caller: call.sender)
                },
                .signal(QueueInterface.stateChanged),
            ]
        )
    }
}
