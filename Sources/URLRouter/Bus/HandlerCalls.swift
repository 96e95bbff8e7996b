internal import DBus
internal import OpenURLBus
internal import Processes

/// Calls from the router to handlers and applications.
protocol HandlerCalls: Sendable {
    /// From now on, reaches the handler `id` over the lane, if the process behind its connection `owner` has offered
    /// this.
    func attach(_ id: BusName, at owner: BusName, _ process: ProcessIdentity)
    /// Returns whether a handler is reached over the lane instead of its connection `owner`.
    func isAttached(_ owner: BusName) -> Bool
    /// Ends the handler's connection over the lane because its process has exited, but first handles the answers that
    /// have already arrived. Call this on the router's event loop.
    func detach(_ owner: BusName)
    /// Hands a URL to a handler's object.
    func open(
        _ url: DeliveredURL,
        with handler: RemoteObject,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer
    /// Asks the handler to stop its work on the request with this name.
    func cancel(_ request: String, _ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Returns the name of the delegate method that the handler is running, and how long that method has been running,
    /// in microseconds; the name is empty between methods.
    func progress(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> (String, UInt64)
    /// Returns as soon as the handler's main actor answers.
    func check(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Returns the state that the handler reports.
    func state(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String
    /// Begins an interruption of the handler, and returns when its delegate has been told. If the handler lacks the
    /// method, this does nothing.
    func resignActive(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Ends an interruption of the handler, or brings it back from the background, and returns when its delegate has
    /// been told. If the handler lacks the method, this does nothing.
    func becomeActive(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Moves the handler to the background, and returns when its delegate has been told.
    func enterBackground(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError)
    /// Asks the handler to release its name, and returns whether it has.
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
    /// Launches the handler into the background if it has not launched yet, gives it what the context holds, and
    /// returns its answer when it is done.
    func wake(
        _ context: WakeContext,
        _ id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> WakeAnswer
    /// Asks a handler to exit.
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
