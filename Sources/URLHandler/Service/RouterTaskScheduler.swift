internal import DBus
internal import OpenURLBus

/// The router on the bus, as the keeper of tasks. Calls start the router if necessary.
struct RouterTaskScheduler: TaskScheduler {
    let connection: Connection

    func schedule(_ id: String, _ name: String, _ options: TaskOptions) async throws(OpenURLError) {
        _ = try await connection.callRouter(TasksInterface.schedule, Arguments(id, name, options))
    }

    func cancel(_ id: String, _ name: String) async throws(OpenURLError) {
        _ = try await connection.callRouter(TasksInterface.cancel, Arguments(id, name))
    }

    func tasks(of id: String) async throws(OpenURLError) -> [ScheduledTask] {
        try await connection.callRouter(TasksInterface.list, Empty()).filter { $0.handler == id }
    }
}
