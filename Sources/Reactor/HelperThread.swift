internal import CLinux
internal import Glibc
public import SystemPackage

/// A thread for one piece of work that may block for any length of time, such as a call to a file system that is not
/// responding.
public enum HelperThread {
    /// Runs work in a separate thread and waits for its result, but no longer than a time limit.
    ///
    /// The work cannot be cancelled: after the time limit, its thread stays until the work ends. Limit the number of
    /// such threads yourself. Call this on the loop's thread.
    ///
    /// - Parameters:
    ///   - limit: The time limit.
    ///   - loop: The event loop that the result returns to.
    ///   - endsWithTask: Whether the wait also ends when its task is cancelled, as if the time limit had been reached.
    ///   - isolation: The actor of the caller, whose executor is the loop.
    ///   - work: The work.
    ///   - late: Gets a result that arrives after the end of the wait, on the loop's thread.
    /// - Returns: The result; nil after the time limit.
    /// - Throws: The error from `pthread_create(3)`, or `canceled` if the task was already cancelled and the wait would have
    ///   ended with it. The work does not run then.
    public static func run<Result: Sendable>(
        for limit: Duration,
        on loop: EventLoop,
        endsWithTask: Bool = false,
        isolation: isolated (any Actor)? = #isolation,
        _ work: @escaping @Sendable () -> Result,
        late: @escaping (Result) -> Void
    ) async throws(Errno) -> Result? {
        if endsWithTask, Task.isCancelled { throw .canceled }
        let waiter = Waiter(late)
        let result = await withTaskCancellationHandler {
            // A closure that does not use the actor would run outside the loop.
            _ = isolation
            return await withCheckedContinuation { (continuation: Waiter<Result>.Continuation) in
                waiter.continuation = continuation
                waiter.timer = loop.schedule(at: .now + limit) { waiter.give(.success(nil), on: loop) }
                let failure = startThread("helper") {
                    let result = work()
                    loop.execute { waiter.give(result, on: loop) }
                }
                if let failure { waiter.give(.failure(failure), on: loop) }
            }
        } onCancel: {
            guard endsWithTask else { return }
            loop.execute { waiter.give(.success(nil), on: loop) }
        }
        return try result.get()
    }

    /// Runs work in a separate thread, and blocks the calling thread until the work ends or makes no progress.
    ///
    /// Computing counts as progress, because even a short computation may take a long time on a busy machine.
    ///
    /// - Parameters:
    ///   - patience: The time within which the work has to end, report progress, or use the processor.
    ///   - work: The work. It gets a closure that reports progress.
    ///   - late: Called on the work's thread if the work ends after all.
    /// - Returns: The result; nil if the work makes no progress.
    /// - Throws: The error from `pthread_create(3)`. The work does not run then.
    public static func wait<Result: Sendable>(
        patience: Duration,
        _ work: @escaping @Sendable (_ progress: @Sendable () -> Void) -> Result,
        late: @escaping @Sendable () -> Void
    ) throws(Errno) -> Result? {
        let meeting = Meeting<Result>()
        let failure = startThread("helper") {
            meeting.change { state in
                var clock = clockid_t()
                if pthread_getcpuclockid(pthread_self(), &clock) == 0 { state.clock = clock }
            }
            // A step wakes no thread: the waiting thread looks at the steps when its patience has run out.
            let result = work { meeting.change { $0.steps += 1 } }
            var isLate = false
            meeting.change {
                $0.result = result
                isLate = $0.isOver
            }
            meeting.tellResult()
            if isLate { late() }
        }
        if let failure { throw failure }
        return meeting.wait(patience)
    }

    /// The state that a waiting thread shares with the thread that does the work.
    ///
    /// It is unchecked `Sendable` because its state is used only while the mutex is held.
    private final class Meeting<Result: Sendable>: @unchecked Sendable {
        struct State {
            var steps = 0
            var result: Result?
            var isOver = false
            /// The clock that measures the processor time of the work's thread. The thread exists until there is a
            /// result.
            var clock: clockid_t?

            /// Processor time of the work, in nanoseconds.
            var used: Int {
                var time = timespec()
                guard result == nil, let clock, clock_gettime(clock, &time) == 0 else { return 0 }
                return time.tv_sec * 1_000_000_000 + time.tv_nsec
            }
        }

        private var state = State()
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

        init() {
            mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(mutex, nil)
            condition.initialize(to: pthread_cond_t())
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, &attributes)
            pthread_condattr_destroy(&attributes)
        }

        deinit {
            pthread_cond_destroy(condition)
            pthread_mutex_destroy(mutex)
            condition.deallocate()
            mutex.deallocate()
        }

        func change(_ body: (inout State) -> Void) {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            body(&state)
        }

        /// Wakes the thread that waits for the result.
        func tellResult() { pthread_cond_signal(condition) }

        /// Returns the result; nil if there was no progress for the given time.
        func wait(_ patience: Duration) -> Result? {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            while state.result == nil {
                let (steps, used) = (state.steps, state.used)
                var end = timespec()
                clock_gettime(CLOCK_MONOTONIC, &end)
                let (seconds, attoseconds) = patience.components
                end.tv_sec += Int(seconds)
                end.tv_nsec += Int(attoseconds / 1_000_000_000)
                if end.tv_nsec >= 1_000_000_000 {
                    end.tv_sec += 1
                    end.tv_nsec -= 1_000_000_000
                }
                var status: CInt = 0
                while state.result == nil, status != ETIMEDOUT {
                    status = pthread_cond_timedwait(condition, mutex, &end)
                }
                if state.result == nil, state.steps == steps, state.used == used {
                    state.isOver = true
                    return nil
                }
            }
            return state.result
        }
    }

    /// The caller, as long as it waits. Used only on the loop's thread.
    private final class Waiter<Result: Sendable>: @unchecked Sendable {
        typealias Continuation = CheckedContinuation<Swift.Result<Result?, Errno>, Never>

        var timer: TimerID?
        var continuation: Continuation?
        private let late: (Result) -> Void

        init(_ late: @escaping (Result) -> Void) {
            self.late = late
        }

        func give(_ result: Result, on loop: EventLoop) {
            if continuation == nil { late(result) } else { give(.success(result), on: loop) }
        }

        func give(_ result: Swift.Result<Result?, Errno>, on loop: EventLoop) {
            if let timer { loop.cancelTimer(timer) }
            continuation?.resume(returning: result)
            continuation = nil
        }
    }
}
