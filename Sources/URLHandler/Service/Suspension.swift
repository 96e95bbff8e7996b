internal import DBus
internal import OpenURLBus
internal import Synchronization

/// The handler's name while its process may be stopped: given back, so that no message can reach a process that executes
/// nothing, and taken again when it goes on.
final class Suspension: Sendable {
    private let identifier: BusName
    private let connection: Connection
    private let queue: EventQueue
    private let progress: Progress
    private let isNameGiven = Atomic(false)

    init(of identifier: BusName, _ connection: Connection, _ queue: EventQueue, _ progress: Progress) {
        self.identifier = identifier
        self.connection = connection
        self.queue = queue
        self.progress = progress
    }

    private var isIdle: Bool { progress.state == .background && progress.openTasks == 0 && queue.isIdle }

    /// Gives the name back, if the handler has nothing to do. Runs on the event loop, so that a busy main actor is seen
    /// instead of waited for.
    ///
    /// The bus answers after everything that it has sent to the name before. Events start in the order of their arrival, so
    /// what was on its way is in the queue when the answer is here; and what the handler has answered has left it by then.
    ///
    /// - Returns: whether the process may be stopped; if not, the handler has its name.
    func begin() async throws(CallError) -> Bool {
        guard isIdle else { return false }
        isNameGiven.store(true, ordering: .relaxed)
        try await connection.releaseName(identifier)
        if isIdle { return isNameGiven.load(ordering: .relaxed) }
        await takeName()
        return false
    }

    /// Takes the name back, if it was given: the process goes on.
    func end() {
        guard isNameGiven.load(ordering: .relaxed) else { return }
        Task(executorPreference: connection.loop) { await self.takeName() }
    }

    private func takeName() async {
        guard isNameGiven.exchange(false, ordering: .relaxed) else { return }
        do throws(CallError) {
            guard try await connection.requestName(identifier) == .owned else {
                Application.fail(identifier, "another process has taken that name meanwhile")
            }
        } catch {
            if error != .disconnected { Application.fail(identifier, "its name cannot be taken again: \(error)") }
        }
    }
}
