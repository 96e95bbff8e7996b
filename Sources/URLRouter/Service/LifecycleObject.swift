internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// `org.openurl.Lifecycle1`: the handlers that run, and their states.
enum LifecycleObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            LifecycleInterface.name,
            [
                .method(LifecycleInterface.list) { call, _ in
                    try await router.querying(call.sender) { await router.status(for: call.sender) }
                },
                .method(LifecycleInterface.activate) { call, id in
                    try await router.activate(try await subject(id, call, router), caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.wake) { call, id in
                    try await router.wake(try await subject(id, call, router), caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.background) { call, id in
                    try await router.background(try await subject(id, call, router))
                    return Empty()
                },
                .method(LifecycleInterface.suspend) { call, id in
                    try await router.suspend(try await subject(id, call, router))
                    return Empty()
                },
                .method(LifecycleInterface.terminate) { call, id in
                    try await router.terminate(try await subject(id, call, router))
                    return Empty()
                },
                .method(LifecycleInterface.reset) { call, id in
                    try await router.reset(try await subject(id, call, router))
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
                .method(LifecycleInterface.reportProgress) { call, input in
                    let (request, fraction, message) = input.values
                    guard let report = ProgressReport(fraction, message) else {
                        throw RemoteError(.invalidArguments, "the fraction has to be a number")
                    }
                    try await router.reportProgress(report, on: request, caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.returnToSource) { call, input in
                    let (request, platformData) = input.values
                    let tokens = FreedesktopApplication.options(platformData)
                    try await router.returnToSource(of: request, tokens, caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.notify) { call, input in
                    let (id, kind, value) = input.values
                    try await router.notify(try await subject(id, call, router), kind, value)
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

    /// Returns the handler that a call names, if the caller may do something to it.
    private static func subject(
        _ text: String,
        _ call: IncomingCall,
        _ router: URLRouter
    ) async throws -> BundleIdentifier {
        let id = try identifier(text)
        try await router.check(call.sender, for: text)
        return id
    }
}
