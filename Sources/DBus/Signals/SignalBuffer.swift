internal import DequeModule
internal import Reactor

/// One subscription's signals that have not been taken yet.
///
/// The event loop adds signals, and the subscriber takes them.
final class SignalBuffer<Body: MessageBody>: Sendable {
    private struct State {
        var signals: Deque<ReceivedSignal<Body>> = []
        var lost = 0
        var isFinished = false
        var waiters: [(id: UInt64, continuation: CheckedContinuation<ReceivedSignal<Body>?, Never>)] = []
        var lastID: UInt64 = 0

        mutating func take() -> ReceivedSignal<Body>? {
            guard !signals.isEmpty else { return nil }
            var first = signals.removeFirst()
            first.lost = lost
            lost = 0
            return first
        }
    }

    private let state = Lock(State())
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = max(capacity, 1)
    }

    /// Adds a signal. If the buffer is full, this drops the oldest signal and counts it.
    func put(_ signal: ReceivedSignal<Body>) {
        let waiter = state.withLock { state -> CheckedContinuation<ReceivedSignal<Body>?, Never>? in
            if !state.waiters.isEmpty { return state.waiters.removeFirst().continuation }
            if state.signals.count == capacity {
                state.signals.removeFirst()
                state.lost += 1
            }
            state.signals.append(signal)
            return nil
        }
        waiter?.resume(returning: signal)
    }

    /// Ends the sequence once the buffered signals have been taken.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: nil) }
    }

    /// Takes the oldest signal, or waits for one; nil if the sequence has ended or the task is cancelled.
    func next() async -> ReceivedSignal<Body>? {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: ReceivedSignal<Body>?? = state.withLock { state in
                    if let signal = state.take() { return signal }
                    // If the task is cancelled after this check, its cancellation handler waits for the lock and then
                    // finds the entry.
                    if state.isFinished || Task.isCancelled { return .some(nil) }
                    state.waiters.append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).continuation }
            }
            waiter?.resume(returning: nil)
        }
    }
}
