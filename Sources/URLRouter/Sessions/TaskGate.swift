/// Holds tasks up while something is under way.
///
/// A gate belongs to the router's actor.
final class TaskGate {
    /// The tasks that wait; nil while the gate is open.
    private var waiting: [CheckedContinuation<Void, Never>]?

    /// Whether a task has to wait.
    var isClosed: Bool { waiting != nil }

    /// Whether a task waits.
    var holdsTasks: Bool { waiting?.isEmpty == false }

    /// Closes the gate. Tasks that wait already continue to wait.
    func close() {
        waiting = waiting ?? []
    }

    /// Returns when the gate is open.
    func wait() async {
        guard isClosed else { return }
        await withCheckedContinuation { continuation in
            // The gate may have opened on the way to here, which can lead through the loop's jobs.
            if waiting == nil { continuation.resume() } else { waiting?.append(continuation) }
        }
    }

    /// Opens the gate.
    ///
    /// - Parameter body: the work that comes before that of the tasks that have waited.
    func open(_ body: () -> Void = {}) {
        let waiting = waiting ?? []
        self.waiting = nil
        body()
        for continuation in waiting { continuation.resume() }
    }
}
