internal import SchemeRegistry

/// A handler's session as each of its parts sees it.
///
/// The parts share the session's isolation, and the session owns them. A task or a timer of a part holds the session, so that a
/// session in use is not removed. For the same reason an asynchronous method holds the session that it needs after a suspension.
protocol SessionView: AnyObject {
    /// The handler as the registry has it now.
    var handler: Handler { get }
    /// The state of the handler. Only events change it.
    var machine: HandlerStateMachine { get }
    /// The router's knowledge of the handler's process.
    var process: HandlerProcess { get }
    /// Reports to the machine what has happened.
    func handle(_ event: HandlerStateMachine.Event)
    /// Starts a task that holds the session, and runs it up to its first suspension.
    func startTask(_ body: @escaping () async -> Void)
}
