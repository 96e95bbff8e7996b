internal import DBus
internal import OpenURLBus

/// `org.openurl.Tasks1`: the tasks of handlers in the background.
enum TasksObject {
    static func interface(_ router: URLRouter) -> ExportedInterface {
        ExportedInterface(
            TasksInterface.name,
            [
                .method(TasksInterface.schedule, of: router) { router, call, input in
                    let (id, name, options) = input.values
                    let subject = try await router.callers.identifier(id, actingAs: call.sender)
                    guard (1...TasksInterface.nameBytes).contains(name.utf8.count) else {
                        throw RemoteError(
                            .invalidArguments,
                            "the name of a task has 1 to \(TasksInterface.nameBytes) bytes"
                        )
                    }
                    return try await router.callers.querying(call.sender) {
                        try await router.scheduledTasks.schedule(subject, name, options)
                        return Empty()
                    }
                },
                .method(TasksInterface.cancel, of: router) { router, call, input in
                    let (id, name) = input.values
                    let subject = try await router.callers.identifier(id, actingAs: call.sender)
                    return try await router.callers.querying(call.sender) {
                        try await router.scheduledTasks.cancel(subject, name)
                        return Empty()
                    }
                },
                .method(TasksInterface.list, of: router) { router, call, _ in
                    try await router.callers.querying(call.sender) {
                        try await router.scheduledTasks.list(for: call.sender)
                    }
                },
                .method(TasksInterface.run, of: router) { router, call, input in
                    let (id, name) = input.values
                    let subject = try await router.callers.identifier(id, actingAs: call.sender)
                    return try await router.callers.querying(call.sender) {
                        try await router.scheduledTasks.runNow(subject, name)
                    }
                },
            ]
        )
    }
}
