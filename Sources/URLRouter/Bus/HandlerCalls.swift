internal import DBus
internal import OpenURLBus
internal import Processes

/// The calls of the router to handlers and applications.
protocol HandlerCalls: Sendable {
    /// Reaches the handler `id` over the lane from now on, if the process of its connection `owner` has offered that.
    func attach(_ id: BusName, at owner: BusName, _ process: ProcessIdentity)
    /// Whether the connection `owner` of a handler is reached over the lane.
    func isAttached(_ owner: BusName) -> Bool
    /// Ends the handler's connection over the lane, after the answers that have arrived: its process has ended. Call it on the router's
    /// event loop.
    func detach(_ owner: BusName)
    /// Hands a URL to the handler `id` at the connection `owner`.
    func open(
        _ url: String,
        _ context: OpenContext,
        with id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer
    /// Asks the handler to stop its work on the request of this name.
    func cancel(_ request: String, _ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// The delegate method that the handler is in now, and the method's time so far in microseconds; empty if it is in none.
    func progress(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> (String, UInt64)
    /// Returns when the handler's main actor answers.
    func check(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// The handler's own word about its state.
    func state(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String
    /// Takes the handler to the background; returns when its delegate has been told.
    func enterBackground(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Asks the handler to release its name; returns whether it has.
    func suspend(
        _ id: BusName,
        at owner: BusName,
        lifeline: UnixFD,
        timeout: Duration
    ) async throws(CallError) -> Bool
    func receiveMemoryWarning(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    func expireBackgroundTasks(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    func notify(
        _ notifications: [String: Value],
        _ id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError)
    /// Asks a handler to end.
    func terminate(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Asks the handler or application `name` at the connection `owner` to show itself.
    func activate(
        _ name: BusName,
        _ platformData: [String: Value],
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError)
    /// Hands a URL to the application `name` at the connection `owner`.
    func openApplication(
        _ url: String,
        _ platformData: [String: Value],
        with name: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError)
}
