internal import Glibc

/// The parts of the daemon, created in the order of the functions below.
///
/// ``Daemon`` is generic over the parts, so that a test can replace them and record the order.
protocol Assembly: Sendable {
    associatedtype Registry: Sendable
    associatedtype Bus: Sendable
    associatedtype Router: AssembledRouter

    /// Reads the handlers and the desktop's applications.
    func loadRegistry() async throws -> Registry

    /// Connects to the session bus.
    func connect() async throws -> Bus

    /// Creates the router. No other process can see it yet.
    func makeRouter(_ registry: Registry, _ bus: Bus) async throws -> Router
}

/// A router, as ``Daemon`` starts and ends it.
protocol AssembledRouter: Sendable {
    /// The number of handlers in the registry.
    var handlerCount: Int { get }

    // MARK: Starting

    /// Calls `handler` with the number of each signal that asks the process to end.
    func watchSignals(_ handler: @escaping @Sendable (CInt) -> Void) async throws

    /// Exports the objects that callers reach under the router's name.
    func export() async

    /// Requests the router's name on the bus.
    ///
    /// - Returns: whether the name is now this process's.
    func takeName() async throws -> Bool

    /// Reads the registry again whenever its files change, and publishes the handlers to the desktop.
    func followRegistry() async

    /// Takes over the handlers that are already running.
    func adoptRunning() async

    /// Begins to deliver the queue's URLs.
    func startDeliveries() async

    /// Begins to watch the system's memory.
    func watchMemory() async

    /// Returns when the connection to the bus has ended.
    func waitUntilClosed() async

    // MARK: Ending

    /// Notifies the service manager that the process is about to exit.
    func announceEnd() async throws

    /// Ends the queue's deliveries.
    func stopDeliveries() async

    /// Releases the router's name, so that the bus starts another router for the next request.
    func releaseName() async throws

    /// Returns when every request that has arrived has been answered, or when the task is cancelled.
    func waitUntilAnswered() async

    /// Closes the connection to the bus.
    func close() async

    /// Leaves to the next router the deliveries that were cut short.
    func abandonDeliveries() async
}
