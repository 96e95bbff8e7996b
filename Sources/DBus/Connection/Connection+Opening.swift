internal import CDBus
internal import Glibc
public import Reactor

/// libdbus's connection after the first words, on its way from the thread that made it to the one that uses it; it belongs
/// to one of them at a time.
struct EstablishedConnection: @unchecked Sendable {
    let raw: OpaquePointer
    let uniqueName: BusName?

    func close() {
        dbus_connection_close(raw)
        dbus_connection_unref(raw)
    }
}

extension Connection {
    /// Connects to a bus.
    ///
    /// A bus that does not answer holds up nothing else on the loop: the first words are exchanged on a thread of their own.
    ///
    /// - Parameter timeout: how long to wait for the bus.
    /// - Throws: ``ConnectionError`` with libdbus's own words when the bus cannot be reached, ``ConnectionError/timedOut``
    ///   when it does not answer, ``ConnectionError/cancelled`` when the task is cancelled before it does.
    public static func open(
        _ address: BusAddress = .session,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits(),
        timeout: Duration = .seconds(25)
    ) async throws(ConnectionError) -> Connection {
        try await open(on: loop, limits, timeout) { () throws(ConnectionError) -> EstablishedConnection? in
            try BlockingConnection(address, timeout: timeout).handOver()
        }
    }

    /// Has `connect` make a connection on a thread of its own, and takes it over.
    static func open(
        on loop: EventLoop,
        _ limits: ConnectionLimits,
        _ timeout: Duration,
        _ connect: @escaping @Sendable () throws(ConnectionError) -> EstablishedConnection?
    ) async throws(ConnectionError) -> Connection {
        typealias Outcome = Result<Connection, ConnectionError>
        // Whoever takes the continuation out resumes it.
        let waiting = Lock<CheckedContinuation<Outcome, Never>?>(nil)
        let fail: @Sendable (ConnectionError) -> Void = { error in
            waiting.withLock { $0.take() }?.resume(returning: .failure(error))
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
                waiting.withLock { $0 = continuation }
                if Task.isCancelled { return fail(.cancelled) }
                loop.execute {
                    let timer = loop.schedule(at: .now + min(timeout, .longest)) { fail(.timedOut) }
                    let isStarted = startThread {
                        let established = Result(catching: connect)
                        loop.execute {
                            loop.cancelTimer(timer)
                            let continuation = waiting.withLock { $0.take() }
                            switch (established, continuation) {
                            case (.success(let established?), let continuation?):
                                let connection = Connection(established, on: loop, limits: limits)
                                let isAttached = connection.assumeIsolated { $0.attach() }
                                continuation.resume(
                                    returning: isAttached ? .success(connection) : .failure(.outOfMemory)
                                )
                            case (.success(let established), _):
                                // Too late: nobody waits for it any more.
                                established?.close()
                            case (.failure(let error), _): continuation?.resume(returning: .failure(error))
                            }
                        }
                    }
                    if !isStarted {
                        loop.cancelTimer(timer)
                        fail(ConnectionError(reason: "no thread can be started"))
                    }
                }
            }
        } onCancel: {
            fail(.cancelled)
        }
        // Tells ThreadSanitizer, which does not see it of a continuation, that what the loop did comes first.
        waiting.withLock { _ in }
        return try outcome.get()
    }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// Runs on a thread of its own what may block for long.
///
/// - Returns: false when there can be no more threads.
private func startThread(_ run: @escaping @Sendable () -> Void) -> Bool {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    let body = Unmanaged.passRetained(ThreadBody(run))
    var id = pthread_t()
    let status = pthread_create(
        &id,
        &attributes,
        { argument in
            if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
            return nil
        },
        body.toOpaque()
    )
    if status != 0 { body.release() }
    return status == 0
}
