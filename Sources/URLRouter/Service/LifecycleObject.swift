internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// `org.openurl.Lifecycle1`: the handlers that are running, and their states.
enum LifecycleObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            LifecycleInterface.name,
            [
                .method(LifecycleInterface.list, of: router) { router, call, _ in
                    try await router.callers.querying(call.sender) { await router.lifecycle.status(for: call.sender) }
                },
                .method(LifecycleInterface.activate, of: router) { router, call, id in
                    try await router.lifecycle.activate(
                        try await router.callers.identifier(id, for: call.sender),
                        caller: call.sender
                    )
                    return Empty()
                },
                .method(LifecycleInterface.wake, of: router) { router, call, id in
                    try await router.lifecycle.wake(
                        try await router.callers.identifier(id, for: call.sender),
                        caller: call.sender
                    )
                    return Empty()
                },
                .method(LifecycleInterface.background, of: router) { router, call, id in
                    try await router.lifecycle.background(try await router.callers.identifier(id, for: call.sender))
                    return Empty()
                },
                .method(LifecycleInterface.suspend, of: router) { router, call, id in
                    try await router.lifecycle.suspend(try await router.callers.identifier(id, for: call.sender))
                    return Empty()
                },
                .method(LifecycleInterface.interrupt, of: router) { router, call, id in
                    try await router.interruptions.begin(try BundleIdentifier(argument: id), caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.resume, of: router) { router, call, id in
                    try await router.interruptions.end(try BundleIdentifier(argument: id), caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.focusChanged, of: router) { router, call, id in
                    try await router.focus.change(to: id, caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.terminate, of: router) { router, call, id in
                    try await router.lifecycle.terminate(try await router.callers.identifier(id, for: call.sender))
                    return Empty()
                },
                .method(LifecycleInterface.reset, of: router) { router, call, id in
                    try router.lifecycle.reset(try await router.callers.identifier(id, for: call.sender))
                    router.scheduledTasks.update()
                    return Empty()
                },
                .method(LifecycleInterface.output, of: router) { router, call, id in
                    try await router.outputs.place(of: try await router.callers.identifier(id, for: call.sender))
                },
                .method(LifecycleInterface.beginBackgroundTask, of: router) { router, call, name in
                    let (task, remaining) = try await router.lifecycle.beginBackgroundTask(name, caller: call.sender)
                    return Arguments(task, remaining)
                },
                .method(LifecycleInterface.endBackgroundTask, of: router) { router, call, task in
                    try await router.lifecycle.endBackgroundTask(task, caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.finishBackgroundMode, of: router) { router, call, _ in
                    try router.lifecycle.finishBackgroundMode(caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.backgroundTimeRemaining, of: router) { router, call, _ in
                    try router.lifecycle.backgroundTimeRemaining(caller: call.sender)
                },
                .method(LifecycleInterface.reportProgress, of: router) { router, call, input in
                    let (request, fraction, message) = input.values
                    guard let report = ProgressReport(fraction, message) else {
                        throw RemoteError(.invalidArguments, "the fraction must be a number")
                    }
                    try router.sessions.report(report, on: request, from: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.returnToSource, of: router) { router, call, input in
                    let (request, platformData) = input.values
                    let tokens = FreedesktopApplication.options(platformData)
                    try router.lifecycle.returnToSource(of: request, tokens, caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.notify, of: router) { router, call, input in
                    let (id, kind, value) = input.values
                    let handler = try await router.callers.identifier(id, for: call.sender)
                    try await router.lifecycle.notify(handler, kind, value, caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.notifyWithOptions, of: router) { router, call, input in
                    let (id, kind, value, options) = input.values
                    let handler = try await router.callers.identifier(id, for: call.sender)
                    try await router.lifecycle.notify(handler, kind, value, options, caller: call.sender)
                    return Empty()
                },
                .method(LifecycleInterface.relieveMemory, of: router) { router, _, _ in
                    router.lifecycle.relieveMemory()
                    return Empty()
                },
                .signal(LifecycleInterface.stateChanged),
                .signal(LifecycleInterface.launchBegan),
                .signal(LifecycleInterface.launchEnded),
            ]
        )
    }
}
