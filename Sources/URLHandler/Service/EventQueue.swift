internal import DBus
internal import DequeModule
internal import OpenURLBus
internal import Synchronization

/// What arrived for the main actor and waits for its turn: one event at a time, in the order of arrival.
///
/// An event that finds the queue idle starts a task on the main actor, which ends when the queue is empty. There is no
/// stream to wait on in between: waking from one costs a detour through another thread (see `EventLoop`).
final class EventQueue: Sendable {
    typealias Event = @MainActor @Sendable () async -> Void

    /// How many events may wait; the router keeps to the same number.
    static let limit = 16_384

    private struct State {
        var waiting: Deque<Event> = []
        var isRunning = false
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Events that have arrived and are not done. Counted apart from what the main actor runs, as it learns that the queue is
    /// empty after the sender of the last event has its answer and may ask.
    private let unfinished = Atomic(0)

    /// Whether all events that have arrived are done.
    var isIdle: Bool { unfinished.load(ordering: .relaxed) == 0 }

    private enum Refusal {
        case full, finished
    }

    /// Runs `body` on the main actor when all events before it are done, and returns what it returns.
    ///
    /// - Throws: what `body` throws; `limitsExceeded` when too much waits; `HandlerInterface.ending` when the handler is ending,
    ///   which tells the router that this process has not seen the URL.
    func run<T: Sendable>(_ body: @escaping @MainActor @Sendable () async throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { result in
            let refusal = add {
                do {
                    let value = try await body()
                    self.unfinished.subtract(1, ordering: .relaxed)
                    result.resume(returning: value)
                } catch {
                    self.unfinished.subtract(1, ordering: .relaxed)
                    result.resume(throwing: error)
                }
            }
            switch refusal {
            case nil: break
            case .full:
                result.resume(throwing: OpenURLError(.limitsExceeded, "\(Self.limit) events are waiting already"))
            case .finished:
                result.resume(throwing: RemoteError(HandlerInterface.ending, "the handler is ending"))
            }
        }
    }

    /// Adds the last event; does nothing the second time.
    func finish(_ event: @escaping Event) {
        let starts = state.withLock { state in
            guard !state.isFinished else { return false }
            state.isFinished = true
            unfinished.add(1, ordering: .relaxed)
            state.waiting.append(event)
            return Self.starts(&state)
        }
        if starts { start() }
    }

    private func add(_ event: @escaping Event) -> Refusal? {
        let (refusal, starts): (Refusal?, Bool) = state.withLock { state in
            if state.isFinished { return (.finished, false) }
            if state.waiting.count >= Self.limit { return (.full, false) }
            state.waiting.append(event)
            unfinished.add(1, ordering: .relaxed)
            return (nil, Self.starts(&state))
        }
        if starts { start() }
        return refusal
    }

    private static func starts(_ state: inout State) -> Bool {
        defer { state.isRunning = true }
        return !state.isRunning
    }

    private func start() {
        Task { @MainActor in
            while let event = next() { await event() }
        }
    }

    private func next() -> Event? {
        state.withLock { state in
            let event = state.waiting.popFirst()
            if event == nil { state.isRunning = false }
            return event
        }
    }
}
