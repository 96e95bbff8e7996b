import OpenURLBus
import Reactor

/// Cancels the task of a call, as the connection does.
final class CancelledCalls: Sendable {
    private let task = Lock<Task<OpenResult, any Error>?>(nil)

    func set(_ task: Task<OpenResult, any Error>) {
        self.task.withLock { $0 = task }
    }

    func cancel() {
        task.withLock { $0 }?.cancel()
    }
}
