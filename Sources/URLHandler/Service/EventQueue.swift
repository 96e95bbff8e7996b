internal import DBus
internal import DequeModule
internal import OpenURLBus
internal import Synchronization

/// The events that wait for the main actor. Events run one at a time, in the order of arrival.
///
/// An event that finds the queue idle starts a task on the main actor, and the task ends when the queue is empty. The
/// queue does not use an asynchronous stream, because a wake-up from a stream takes a detour through another thread
/// (see `EventLoop`).
final class EventQueue: Sendable {
    typealias Event = @MainActor @Sendable () async -> Void

    /// The maximum number of waiting events. The router's limit per handler is the same.
    static let limit = 16_384

    private struct State {
        var waiting: Deque<Event> = []
        var isRunning = false
        var isFinished = false
    }

    private let state = Mutex(State())

    /// The number of events that have arrived and are not done.
    ///
    /// The number is separate from `State`: the main actor finds the queue empty only after the sender of the last
    /// event has received its answer. The sender could ask in between whether the handler is idle.
    private let unfinished = Atomic(0)

    /// Whether all events that have arrived are done.
    var isIdle: Bool { unfinished.load(ordering: .relaxed) == 0 }

    private enum Refusal {
        case full, finished
    }

    /// Runs `body` on the main actor when all earlier events are done, and returns the result of `body`.
    ///
    /// - Throws: the error of `body`; `limitsExceeded` when too many events wait; `HandlerInterface.ending` when the
    ///   handler is ending. The last error tells the router that this process has not handled the URL.
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

    /// Adds the last event; a second call does nothing.
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
