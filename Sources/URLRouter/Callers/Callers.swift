internal import DBus
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// The callers of the router: their identity, the number of their requests, and the chain of openings behind each.
///
/// The object belongs to the router's actor.
final class Callers {
    private let bus: any HandlerBus
    private let limits: RouterLimits
    private let sessions: HandlerSessions
    private var known = KnownCallers()
    private let commandHops: CommandHops
    /// The requests whose sender is not looked up yet, because the running handlers are not known yet; nil when they are.
    private var held: [CheckedContinuation<Void, Never>]?
    /// The number of requests without an answer, by caller.
    private(set) var unanswered: [BusName?: Int] = [:]

    init(_ bus: any HandlerBus, _ limits: RouterLimits, _ sessions: HandlerSessions, _ commandHops: CommandHops) {
        self.bus = bus
        self.limits = limits
        self.sessions = sessions
        self.commandHops = commandHops
    }

    // MARK: Identity

    /// Looks a caller up.
    ///
    /// - Parameter name: the caller's unique name; nil on a connection without a bus.
    func caller(_ name: BusName?) async -> Caller {
        let known = await identify(name)
        await waitForRelease()
        let session = known.process.flatMap(sessions.session(ofProcess:))
        var source = known.source
        if let id = session?.handler.id.rawValue {
            source.application = id
            // A handler in a sandbox has the rights of the sandbox, with the handler's identifier.
            if source.callerClass == .known(.user) { source.callerClass = .known(.handler) }
        }
        return Caller(source: source, pid: known.process?.pid, session: session)
    }

    /// Makes the look-ups of callers wait for ``release()``.
    func hold() {
        held = []
    }

    /// Returns when the running handlers are known.
    func waitForRelease() async {
        guard held != nil else { return }
        await withCheckedContinuation { continuation in
            // The release may have come on the way to here, which can lead through the loop's jobs.
            if held == nil { continuation.resume() } else { held?.append(continuation) }
        }
    }

    /// Ends the waiting of ``hold()``.
    func release() {
        let waiting = held ?? []
        held = nil
        for continuation in waiting { continuation.resume() }
    }

    private func identify(_ name: BusName?) async -> KnownCallers.Entry {
        guard let name else { return KnownCallers.Entry(source: OpenContext.Source(), process: nil) }
        if let entry = known[name] { return entry }
        let credentials: Credentials?
        do throws(CallError) {
            credentials = try await bus.credentials(of: name)
        } catch {
            // The caller has gone already. Its URL is still delivered, from an unknown sender.
            credentials = nil
        }
        let entry = KnownCallers.Entry(name, credentials)
        if credentials != nil { known.add(name, entry) }
        return entry
    }

    // MARK: Context

    /// The context of a request by a caller, for the handler or application that gets the URL.
    ///
    /// - Throws: `notAllowed` if the handler takes nothing from the caller, `loopDetected` for too many openings in a row.
    func context(of caller: Caller, for claimant: Claimant) throws(OpenURLError) -> OpenContext {
        try claimant.handler?.checkAccess(of: caller.handler?.id, caller.callerClass)
        var context = OpenContext()
        context.hops = try hops(of: caller)
        context.sourceApplication = caller.handler?.id.rawValue
        context.source = caller.source
        return context
    }

    /// Checks a context that was made earlier: the handler's manifest may have changed since.
    func check(_ context: OpenContext, for handler: Handler) throws(OpenURLError) {
        var sender: BundleIdentifier?
        if let text = context.sourceApplication {
            do throws(BundleIdentifier.ParseError) {
                sender = try BundleIdentifier(text)
            } catch {
                throw OpenURLError(.notAllowed, "the sender is unknown: \(error)")
            }
        }
        try handler.checkAccess(of: sender, context.source.callerClass.known ?? .unknown)
    }

    /// The number of openings that led to a request by this caller: none, unless the caller is a handler or a command that
    /// was started for a URL.
    private func hops(of caller: Caller) throws(OpenURLError) -> UInt32 {
        let before =
            caller.session.map { _ in caller.cause?.context?.hops ?? 0 }
            ?? caller.pid.flatMap { commandHops[$0] }
        guard let before else { return 0 }
        guard before < limits.hops else {
            throw OpenURLError(.loopDetected, "\(before + 1) handlers in a row have opened each other")
        }
        return before + 1
    }

    // MARK: Counts

    /// Performs a request of a caller, unless too many of its requests have no answer yet.
    ///
    /// - Throws: `limitsExceeded`, and the errors of `body`.
    func counting<Result>(
        _ caller: BusName?,
        _ body: () async throws(OpenURLError) -> Result
    ) async throws(OpenURLError) -> Result {
        let count = unanswered[caller, default: 0]
        guard count < limits.requestsPerCaller else {
            throw OpenURLError(.limitsExceeded, "\(count) URLs of this caller have no answer yet")
        }
        unanswered[caller] = count + 1
        defer {
            let count = unanswered[caller, default: 1]
            unanswered[caller] = count > 1 ? count - 1 : nil
        }
        return try await body()
    }
}
