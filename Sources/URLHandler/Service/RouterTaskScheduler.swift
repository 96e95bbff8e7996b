internal import DBus
internal import OpenURLBus

/// The router on the bus, as the keeper of tasks. Calls start the router if necessary.
struct RouterTaskScheduler: TaskScheduler {
    let connection: Connection

    func schedule(_ id: String, _ name: String, _ options: TaskOptions) async throws(OpenURLError) {
        let _: Empty = try await call(TasksInterface.schedule, Arguments(id, name, options))
    }

    func cancel(_ id: String, _ name: String) async throws(OpenURLError) {
        let _: Empty = try await call(TasksInterface.cancel, Arguments(id, name))
    }

    func tasks(of id: String) async throws(OpenURLError) -> [ScheduledTask] {
        try await call(TasksInterface.list, Empty()).filter { $0.handler == id }
    }

    private func call<Input: MessageBody & Sendable, Output: MessageBody & Sendable>(
        _ method: Method<Input, Output>,
        _ input: Input
    ) async throws(OpenURLError) -> Output {
        do throws(CallError) {
            return try await connection.call(method, on: RouterService.object, input)
        } catch {
            throw OpenURLError(fromRouter: error)
        }
    }
}
