internal import DBus
internal import OpenURLBus

/// `org.openurl.Queue1`: the URLs that wait for their delivery.
enum QueueObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            QueueInterface.name,
            [
                .method(QueueInterface.list) { _, id in try await router.queuedURLs(after: id) },
                .method(QueueInterface.retry) { _, id in
                    try await router.retryQueued(id)
                    return Empty()
                },
                .method(QueueInterface.drop) { _, id in
                    try await router.dropQueued(id)
                    return Empty()
                },
                .signal(QueueInterface.stateChanged),
            ]
        )
    }
}
