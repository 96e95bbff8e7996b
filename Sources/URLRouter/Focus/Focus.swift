internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// Knows which handler has the user's focus, if a program such as the desktop's shell reports it.
///
/// The handler with the focus comes to the foreground, and is not suspended even if another one takes its place there.
/// The latest program that has reported counts, until it leaves the bus.
///
/// This belongs to the router's actor.
final class Focus {
    private let lifecycle: HandlerLifecycle
    private let tasks: RouterTasks
    /// The program that reports the focus.
    private var reporter: (name: BusName, watch: ConnectionWatch)?
    /// Number of reports. A report that has been overtaken by a later one changes nothing.
    private var reports: UInt64 = 0

    init(_ lifecycle: HandlerLifecycle, _ tasks: RouterTasks) {
        self.lifecycle = lifecycle
        self.tasks = tasks
    }

    private var shared: SharedParts { lifecycle.sessions.shared }

    /// Notes that another handler, or none, has the focus. Returns when the handler is in the foreground.
    ///
    /// - Parameter id: the handler's identifier; empty if another program has the focus.
    /// - Throws: `notAllowed` if this is not a handler that is running, in which case none has the focus, and why the handler
    ///   could not come to the foreground.
    func change(to id: String, caller: BusName?) async throws {
        guard let caller else { throw OpenURLError(.notAllowed, "only a program on the bus can report the focus") }
        reports += 1
        let report = reports
        // Whatever has the focus now, the earlier handler does not.
        if shared.focused?.rawValue != id { move(to: nil) }
        let session = id.isEmpty ? nil : try await lifecycle.runningSession(BundleIdentifier(argument: id))
        try await follow(caller, report)
        guard report == reports, reporter?.name == caller else { return }
        move(to: session?.id)
        if let session, !session.isInForeground { try await session.comeBack() }
    }

    private func follow(_ caller: BusName, _ report: UInt64) async throws(OpenURLError) {
        guard reporter?.name != caller else { return }
        var hasLeft = false
        let watch = ConnectionWatch(on: shared.bus) { [unowned self] in
            hasLeft = true
            guard reporter?.name == caller else { return }
            reporter = nil
            move(to: nil)
        }
        try await watch.begin(caller, tasks)
        // In the meantime, the caller may have left or reported once more, and so may another program.
        guard !hasLeft, report == reports, reporter?.name != caller else { return watch.end() }
        reporter?.watch.end()
        reporter = (caller, watch)
    }

    /// Takes the focus from a handler that has exited.
    func runningChanged(_ id: BusName) {
        if shared.focused == id, lifecycle.sessions[id]?.machine.state.hasHandler != true { move(to: nil) }
    }

    private func move(to id: BusName?) {
        let earlier = shared.focused
        shared.focused = id
        if let earlier { lifecycle.sessions[earlier]?.background.allowSuspension() }
    }
}
