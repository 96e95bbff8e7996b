internal import Glibc
public import Reactor

/// A socket after the first exchange, on its way from the thread that opened it to the event loop.
///
/// It is unchecked `Sendable` because only one of the two threads uses it at a time.
final class EstablishedConnection: @unchecked Sendable {
    let socket: CInt
    let passesDescriptors: Bool
    let uniqueName: BusName?
    /// This program's name, given by the other end of a connection without a bus.
    let givenName: BusName?
    let serials: Serials
    private var input: InputBuffer

    init(
        _ socket: CInt,
        passesDescriptors: Bool,
        uniqueName: BusName?,
        givenName: BusName? = nil,
        _ serials: Serials,
        _ input: consuming InputBuffer
    ) {
        self.socket = socket
        self.passesDescriptors = passesDescriptors
        self.uniqueName = uniqueName
        self.givenName = givenName
        self.serials = serials
        self.input = input
    }

    /// Returns whatever arrived after the first exchange.
    func takeInput() -> InputBuffer {
        var taken = InputBuffer(limit: 0, descriptors: 0)
        swap(&taken, &input)
        return taken
    }

    func close() {
        Glibc.close(socket)
    }
}

extension Connection {
    /// Connects to a bus.
    ///
    /// The first exchange runs on a separate thread, so a bus that is not responding blocks nothing else on the loop.
    ///
    /// - Parameters:
    ///   - address: The bus.
    ///   - loop: The event loop on which the connection runs.
    ///   - limits: The connection's limits.
    ///   - timeout: The time limit.
    /// - Throws: ``ConnectionError`` with libdbus's message if the bus cannot be reached, ``ConnectionError/timedOut``
    ///   if the bus does not answer, ``ConnectionError/cancelled`` if the task is cancelled before the bus answers.
    public static func open(
        _ address: BusAddress = .session,
        on loop: EventLoop,
        limits: ConnectionLimits = ConnectionLimits(),
        timeout: Duration = .seconds(25)
    ) async throws(ConnectionError) -> Connection {
        try await EstablishedConnection.connection(on: loop, limits, timeout) {
            () throws(ConnectionError) -> EstablishedConnection? in
            try BlockingConnection(address, timeout: timeout).handOver()
        }
    }
}

extension EstablishedConnection {
    /// Runs `connect` on a separate thread and creates a connection from the result.
    static func connection(
        on loop: EventLoop,
        _ limits: ConnectionLimits,
        _ timeout: Duration,
        _ connect: @escaping @Sendable () throws(ConnectionError) -> EstablishedConnection?
    ) async throws(ConnectionError) -> Connection {
        typealias Outcome = Result<Connection, ConnectionError>
        // Taking the continuation out of the lock makes sure that it is resumed exactly once.
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
                    let failure = startThread("connecting") {
                        let established = Result(catching: connect)
                        loop.execute {
                            loop.cancelTimer(timer)
                            let continuation = waiting.withLock { $0.take() }
                            switch (established, continuation) {
                            case (.success(let established?), let continuation?):
                                let connection = Connection(established, on: loop, limits: limits)
                                connection.assumeIsolated { $0.attach() }
                                continuation.resume(returning: .success(connection))
                            case (.success(let established), _):
                                // The caller has stopped waiting for the connection.
                                established?.close()
                            case (.failure(let error), _): continuation?.resume(returning: .failure(error))
                            }
                        }
                    }
                    if failure != nil {
                        loop.cancelTimer(timer)
                        fail(ConnectionError(reason: "no thread can be started"))
                    }
                }
            }
        } onCancel: {
            fail(.cancelled)
        }
        // The lock is for ThreadSanitizer, which does not see that the loop's work happens before the continuation's
        // task.
        waiting.withLock { _ in }
        return try outcome.get()
    }
}
