internal import DBus
internal import OpenURLBus

/// `org.openurl.Queue1`: the URLs that are waiting to be delivered.
enum QueueObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            QueueInterface.name,
            [
                .method(QueueInterface.list, of: router) { router, call, id in
                    try await router.queue.list(after: id, caller: call.sender)
                },
                .method(QueueInterface.retry, of: router) { router, call, id in
                    try await router.queue.retry(id, caller: call.sender)
                    return Empty()
                },
                .method(QueueInterface.drop, of: router) { router, call, id in
                    try await router.queue.drop(id, caller: call.sender)
                    return Empty()
                },
                .method(QueueInterface.wait, of: router) { router, call, id in
                    try await router.queue.outcome(of: id, caller: call.sender)
                },
                .signal(QueueInterface.stateChanged),
            ]
        )
    }
}
