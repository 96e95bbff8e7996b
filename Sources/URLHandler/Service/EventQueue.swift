internal import DBus
internal import DequeModule
internal import OpenURLBus
internal import Reactor
internal import Synchronization

/// The events that are waiting for the main actor. They run one at a time, in the order of arrival.
///
/// If the queue is idle, an event starts a task on the main actor, which ends when the queue is empty. This is not an
/// asynchronous stream, because a wake-up from a stream takes a detour through another thread (see `EventLoop`).
final class EventQueue: Sendable {
    /// An event, which runs until it would have to wait, and returns the rest. If every event were an asynchronous
    /// function, each would take several times as long.
    typealias Event = @MainActor @Sendable () -> Remainder?
    /// The rest of an event, which may wait. When it returns, the event is done.
    typealias Remainder = @MainActor @Sendable () async -> Void

    /// The maximum number of waiting events. It equals the number of calls that a connection accepts; the router sends
    /// a handler fewer.
    static let limit = 16_384

    private struct State {
        var waiting: Deque<Event> = []
        var isRunning = false
        var isFinished = false
        /// Whether the last event waits until no other one does.
        var finishesWhenIdle = false
    }

    private let state = Lock(State())

    /// The number of events that have arrived but are not done.
    ///
    /// This is separate from `State`, because the main actor finds the queue empty only after the sender of the last
    /// event has received its answer. The sender could ask in between whether the handler is idle.
    private let unfinished = Atomic(0)

    /// Whether all events that have arrived are done.
    var isIdle: Bool { unfinished.load(ordering: .relaxed) == 0 }

    /// Runs `body` on the main actor when all earlier events are done, and returns its result.
    ///
    /// - Throws: any error from `body`; `limitsExceeded` when too many events are waiting; `HandlerInterface.ending`
    ///   when the handler is ending.
    func run<T: Sendable>(_ body: @escaping @MainActor @Sendable () async throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { result in
            do throws(Refusal) {
                try add { end in
                    {
                        let outcome = await Result(catching: body)
                        end()
                        result.resume(with: outcome)
                    }
                }
            } catch {
                result.resume(throwing: error.answer)
            }
        }
    }

    /// Adds the last event; a second call does nothing.
    func finish(_ event: @escaping Remainder) {
        let starts = state.withLock { state in
            guard !state.isFinished else { return false }
            state.isFinished = true
            unfinished.add(1, ordering: .relaxed)
            state.waiting.append { event }
            return Self.starts(&state)
        }
        if starts { start() }
    }

    /// Adds the last event as soon as no other event is waiting. In the meantime, the queue accepts further events. If
    /// the last event has been added, or a call of this method is waiting, it does nothing.
    func finishWhenIdle(_ event: @escaping Remainder) {
        let starts = state.withLock { state in
            guard !state.isFinished, !state.finishesWhenIdle else { return false }
            state.finishesWhenIdle = true
            unfinished.add(1, ordering: .relaxed)
            state.waiting.append { self.becomeLast(event) }
            return Self.starts(&state)
        }
        if starts { start() }
    }

    /// Returns the event if no other one is waiting. Otherwise, it goes to the end of the queue.
    private func becomeLast(_ event: @escaping Remainder) -> Remainder? {
        state.withLock { state in
            guard !state.isFinished else { return nil }
            guard state.waiting.isEmpty else {
                state.waiting.append { self.becomeLast(event) }
                return nil
            }
            state.isFinished = true
            return event
        }
    }

    /// Why the queue does not accept an event.
    enum Refusal: Error {
        /// Too many events are waiting.
        case full
        /// The handler is ending. This error tells the router that this process has not handled the URL.
        case finished

        /// The error for the event's sender.
        var answer: any Error {
            switch self {
            case .full: OpenURLError(.limitsExceeded, "\(EventQueue.limit) events are already waiting; try again later")
            case .finished: RemoteError(HandlerInterface.ending, "the handler is ending")
            }
        }
    }

    /// Adds an event, which runs on the main actor when all earlier events are done.
    ///
    /// - Parameter event: gets a function, which it calls once, before the sender gets the result.
    func add(
        _ event: @escaping @MainActor @Sendable (_ end: @escaping @Sendable () -> Void) -> Remainder?
    ) throws(Refusal) {
        let (refusal, starts): (Refusal?, Bool) = state.withLock { state in
            if state.isFinished { return (.finished, false) }
            if state.waiting.count >= Self.limit { return (.full, false) }
            state.waiting.append { event { self.unfinished.subtract(1, ordering: .relaxed) } }
            unfinished.add(1, ordering: .relaxed)
            return (nil, Self.starts(&state))
        }
        if let refusal { throw refusal }
        if starts { start() }
    }

    private static func starts(_ state: inout State) -> Bool {
        defer { state.isRunning = true }
        return !state.isRunning
    }

    /// After this many microseconds, the main actor does other work before the next event. Meanwhile, the answers given
    /// so far are sent.
    private static let turn: UInt64 = 500

    private func start() {
        Task { @MainActor in
            let start = TracePhase.now
            while let event = next() {
                await event()?()
                if TracePhase.now - start > Self.turn { return self.start() }
            }
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
