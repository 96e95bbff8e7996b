internal import CLinux
internal import Glibc
public import SystemPackage

/// A thread for one piece of work that may block for any time, such as a call of a file system that does not answer.
public enum HelperThread {
    /// Runs work in a thread of its own and waits for its result, but not for longer than a time limit.
    ///
    /// The work cannot be cancelled: after the time limit, its thread stays until the work ends. The caller limits the
    /// number of such threads. Call this function on the loop's thread.
    ///
    /// - Parameters:
    ///   - limit: The time limit.
    ///   - loop: The event loop to which the result returns.
    ///   - work: The work.
    ///   - late: A closure that gets a result after the time limit, on the loop's thread.
    /// - Returns: The result; nil after the time limit.
    /// - Throws: The error of `pthread_create(3)`. The work does not run then.
    public static func run<Result: Sendable>(
        for limit: Duration,
        on loop: EventLoop,
        _ work: @escaping @Sendable () -> Result,
        late: @escaping (Result) -> Void
    ) async throws(Errno) -> Result? {
        let result: Swift.Result<Result?, Errno> = await withCheckedContinuation { continuation in
            let waiter = Waiter(continuation, late)
            waiter.timer = loop.schedule(at: .now + limit) { waiter.give(.success(nil), on: loop) }
            let failure = start {
                let result = work()
                loop.execute { waiter.give(result, on: loop) }
            }
            if let failure { waiter.give(.failure(failure), on: loop) }
        }
        return try result.get()
    }

    /// The caller, as long as it waits. Everything is used on the loop's thread only.
    private final class Waiter<Result: Sendable>: @unchecked Sendable {
        var timer: TimerID?
        private var continuation: CheckedContinuation<Swift.Result<Result?, Errno>, Never>?
        private let late: (Result) -> Void

        init(
            _ continuation: CheckedContinuation<Swift.Result<Result?, Errno>, Never>,
            _ late: @escaping (Result) -> Void
        ) {
            self.continuation = continuation
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

    /// The closure of a thread, as a pointer carries it.
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Starts a thread.
    ///
    /// - Returns: The error; nil if the thread runs.
    private static func start(_ run: @escaping @Sendable () -> Void) -> Errno? {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, 512 << 10)
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        var id = pthread_t()
        let body = Unmanaged.passRetained(Body(run))
        let status = pthread_create(
            &id,
            &attributes,
            { argument in
                pthread_setname_np(pthread_self(), "helper")
                if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
                return nil
            },
            body.toOpaque()
        )
        guard status != 0 else { return nil }
        body.release()
        return Errno(rawValue: status)
    }
}
