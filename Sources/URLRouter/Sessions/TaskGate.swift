/// Holds up tasks while something is in progress.
///
/// A gate belongs to the router's actor.
final class TaskGate {
    /// The tasks that are waiting; nil while the gate is open.
    private var waiting: [CheckedContinuation<Void, Never>]?

    /// Whether tasks have to wait.
    var isClosed: Bool { waiting != nil }

    /// Whether any task is waiting.
    var holdsTasks: Bool { waiting?.isEmpty == false }

    /// Closes the gate. Tasks that are already waiting continue to wait.
    func close() {
        waiting = waiting ?? []
    }

    /// Returns as soon as the gate is open.
    func wait() async {
        guard isClosed else { return }
        await withCheckedContinuation { continuation in
            // Other jobs of the loop may run before this closure, so the gate may be open by now.
            if waiting == nil { continuation.resume() } else { waiting?.append(continuation) }
        }
    }

    /// Opens the gate.
    ///
    /// - Parameter body: work to do before the tasks that have been waiting continue.
    func open(_ body: () -> Void = {}) {
        let waiting = waiting ?? []
        self.waiting = nil
        body()
        for continuation in waiting { continuation.resume() }
    }
}
