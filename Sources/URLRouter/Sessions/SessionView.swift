internal import SchemeRegistry

/// A handler's session as each of its parts sees it.
///
/// The session owns its parts, and they share its isolation. A part's tasks and timers hold the session, so that the
/// session is not removed while it is in use. For the same reason, an asynchronous method holds the session if it needs
/// the session after a suspension.
protocol SessionView: AnyObject {
    /// The handler as it is registered now.
    var handler: Handler { get }
    /// The handler's state. Only events change it.
    var machine: HandlerStateMachine { get }
    /// Everything that the router knows about the handler's process.
    var process: HandlerProcess { get }
    /// Reports to the machine what has happened.
    func handle(_ event: HandlerStateMachine.Event)
    /// Starts a task that holds the session, and runs it up to its first suspension.
    func startTask(_ body: @escaping () async -> Void)
}
