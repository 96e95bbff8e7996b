internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// `org.openurl.Lifecycle1`: the handlers that run, and their states.
enum LifecycleObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            LifecycleInterface.name,
            [
                .method(LifecycleInterface.list) { _, _ in await router.status() },
                .method(LifecycleInterface.activate) { _, id in
                    try await router.activate(try identifier(id))
                    return Empty()
                },
                .method(LifecycleInterface.wake) { _, id in
                    try await router.wake(try identifier(id))
                    return Empty()
                },
                .method(LifecycleInterface.background) { _, id in
                    try await router.background(try identifier(id))
                    return Empty()
                },
                .method(LifecycleInterface.suspend) { _, id in
                    try await router.suspend(try identifier(id))
                    return Empty()
                },
                .method(LifecycleInterface.terminate) { _, id in
                    try await router.terminate(try identifier(id))
                    return Empty()
                },
                .method(LifecycleInterface.reset) { _, id in
                    try await router.reset(try identifier(id))
                    return Empty()
                },
                .method(LifecycleInterface.beginBackgroundTask) { call, name in
                    let (task, remaining) = try await router.beginBackgroundTask(name, caller: call.sender)
                    return Arguments(task, remaining)
                },
                .method(LifecycleInterface.endBackgroundTask) { call, task in
                    try await router.endBackgroundTask(task, caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.backgroundTimeRemaining) { call, _ in
                    try await router.backgroundTimeRemaining(caller: call.sender)
                },
                .method(LifecycleInterface.notify) { _, input in
                    let (id, kind, value) = input.values
                    try await router.notify(try identifier(id), kind, value)
                    return Empty()
                },
                .method(LifecycleInterface.relieveMemory) { _, _ in
                    await router.relieveMemory()
                    return Empty()
                },
                .signal(LifecycleInterface.stateChanged),
            ]
        )
    }
}
