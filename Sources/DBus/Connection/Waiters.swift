internal import Reactor

/// Tasks that are waiting for a condition on a connection.
struct Waiters {
    enum Condition {
        /// Most of the messages have been written, so another one would be sent immediately.
        case room
        /// All calls from other programs that read have been answered.
        case answered
        /// The connection has ended.
        case closed
    }

    private var waiters: [UInt64: (condition: Condition, continuation: CheckedContinuation<Void, Never>)] = [:]
    private var lastID: UInt64 = 0

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    mutating func add(_ id: UInt64, _ condition: Condition, _ continuation: CheckedContinuation<Void, Never>) {
        waiters[id] = (condition, continuation)
    }

    func contains(_ condition: Condition) -> Bool {
        // Check this first, because there are hardly ever any waiters.
        !waiters.isEmpty && waiters.values.contains { $0.condition == condition }
    }

    /// Resumes one task, if it is still waiting.
    mutating func resume(_ id: UInt64) {
        waiters.removeValue(forKey: id)?.continuation.resume()
    }

    /// Resumes all tasks that are waiting for the condition, in the order in which they began to wait.
    mutating func resumeAll(_ condition: Condition) {
        guard contains(condition) else { return }
        for id in waiters.filter({ $0.value.condition == condition }).keys.sorted() { resume(id) }
    }
}

extension Connection {
    /// Waits until the condition holds, or until the task is cancelled.
    func wait(for condition: Waiters.Condition) async {
        await withTaskExecutorPreference(loop) {
            let id = waiters.nextID()
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let holds: Bool =
                        switch condition {
                        case .room: state != .open || outgoing.hasRoom
                        case .answered: server.isAnswered(on: self)
                        case .closed: state == .released
                        }
                    if holds || Task.isCancelled { return continuation.resume() }
                    waiters.add(id, condition, continuation)
                }
            } onCancel: {
                loop.execute { self.assumeIsolated { $0.waiters.resume(id) } }
            }
        }
    }
}
