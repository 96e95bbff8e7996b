internal import DBus
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import SchemeRegistry

/// The callers of the router: their identity, the number of their requests, and the chain of openings behind each.
///
/// The object belongs to the router's actor.
final class Callers {
    private let bus: any BusNames
    private let limits: RouterLimits
    private let sessions: HandlerSessions
    private var known = KnownCallers()
    private let commandHops: CommandHops
    /// The requests whose sender is not looked up yet, because the running handlers are not known yet; nil when they are.
    private var held: [CheckedContinuation<Void, Never>]?
    /// The requests without an answer, by the applications of the callers.
    private(set) var unanswered: Shares<String>
    private var unansweredBytes: Shares<String>
    private var unansweredDescriptors: Shares<String>
    /// The lists that are being made, by the applications of the callers.
    private var queries: Shares<String>
    /// The URLs of calls with several URLs, by the applications of the callers.
    private var batchedURLs: Shares<String>
    private let freedMemory: FreedMemory

    init(_ bus: any BusNames, _ limits: RouterLimits, _ sessions: HandlerSessions, _ commandHops: CommandHops) {
        self.bus = bus
        self.limits = limits
        self.sessions = sessions
        self.commandHops = commandHops
        unanswered = Shares(limit: limits.requests)
        unansweredBytes = Shares(limit: limits.requestBytes)
        unansweredDescriptors = Shares(limit: limits.requestDescriptors)
        queries = Shares(limit: limits.queries)
        batchedURLs = Shares(limit: limits.batchedURLs)
        freedMemory = FreedMemory(on: sessions.host.loop)
    }

    // MARK: Identity

    /// Looks a caller up.
    ///
    /// - Parameter name: the caller's unique name; nil on a connection without a bus.
    func caller(_ name: BusName?) async -> Caller {
        // Most callers are known, and need no step that might wait.
        let known = if let name, let entry = self.known[name] { entry } else { await identify(name) }
        if held != nil { await waitForRelease() }
        let children = sessions.host.launcher.children
        if children.areStarting { await children.waitForStart(of: known.process?.pid) }
        let caller = caller(known, name)
        known.account = caller.account
        // From now on, the connection counts the calls to the same account. One confined program must not keep a processor busy.
        if let name { bus.count(name, to: caller.account, isPaced: caller.callerClass.isConfined) }
        return caller
    }

    /// Looks a caller up for a method that is not for every program, and looks at its process again. A program whose process has ended,
    /// or runs another program, is unknown from now on.
    func confirmedCaller(_ name: BusName?) async -> Caller {
        let caller = await caller(name)
        guard let name, let entry = known[name], !entry.isUnchanged else { return caller }
        known.add(name, KnownCallers.Entry(name, nil))
        return await self.caller(name)
    }

    private func caller(_ known: KnownCallers.Entry, _ name: BusName?) -> Caller {
        var session: HandlerSession?
        var source = known.source
        if let process = known.process, let name {
            session = sessions.session(ofProcess: process, name)
            // A handler may have started the sandbox of another application.
            if source.callerClass == .known(.sandboxed),
                session?.isItself(process, name, inSandboxOf: source.application) == false
            {
                session = nil
            }
        }
        if let id = session?.handler.id.rawValue {
            source.application = id
            // A handler in a sandbox has the rights of the sandbox, with the handler's identifier.
            if source.callerClass == .known(.user) { source.callerClass = .known(.handler) }
        }
        return Caller(source, session, pid: known.process?.pid)
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
        freedMemory.startEnded()
    }

    private func identify(_ name: BusName?) async -> KnownCallers.Entry {
        guard let name else { return KnownCallers.Entry(source: OpenContext.Source(), process: nil) }
        let credentials: Credentials?
        do throws(CallError) {
            credentials = try await bus.credentials(of: name)
        } catch {
            // The caller has exited already. Its URL is still delivered, from an unknown sender.
            credentials = nil
        }
        let entry = KnownCallers.Entry(name, credentials)
        if credentials != nil { known.add(name, entry) }
        return entry
    }

    // MARK: Context

    /// The context of a request by a caller, for the handler or application that gets the URL.
    ///
    /// - Parameters:
    ///   - handlers: the handlers that may refuse the caller.
    ///   - openings: the number of openings that led to the caller's own URL, for the request that answers the URL; nil for a request
    ///     that the caller has made.
    /// - Throws: `notAllowed` if a handler takes nothing from the caller, `loopDetected` for too many openings in a row.
    func context(
        of caller: Caller,
        for handlers: [Handler],
        after openings: UInt32? = nil
    ) throws(OpenURLError) -> OpenContext {
        for handler in handlers { try handler.checkAccess(of: caller.handler?.id, caller.callerClass) }
        var context = OpenContext()
        context.hops = try hops(of: caller, after: openings)
        context.sourceApplication = caller.handler?.id.rawValue
        context.source = caller.source
        return context
    }

    /// Checks a context that was made earlier: the handler's manifest may have changed since.
    func check(_ context: OpenContext, for handlers: [Handler]) throws(OpenURLError) {
        var sender: BundleIdentifier?
        if let text = context.sourceApplication {
            do throws(BundleIdentifier.ParseError) {
                sender = try BundleIdentifier(text)
            } catch {
                throw OpenURLError(.notAllowed, "the sender is unknown: \(error)")
            }
        }
        for handler in handlers { try handler.checkAccess(of: sender, context.source.callerClass.known ?? .unknown) }
    }

    /// The number of openings that led to a request by this caller: none, unless the caller is a handler or a command that
    /// was started for a URL.
    private func hops(of caller: Caller, after openings: UInt32?) throws(OpenURLError) -> UInt32 {
        let before =
            openings ?? caller.session.map { _ in caller.cause?.context.hops ?? 0 }
            ?? caller.pid.flatMap { commandHops[$0] }
        guard let before else { return 0 }
        guard before < limits.hops else {
            throw OpenURLError(.loopDetected, "\(before + 1) handlers in a row have opened each other")
        }
        return before + 1
    }

    // MARK: Counts

    /// Counts a request of a caller that has no answer yet, until ``discount(_:)``. The request counts also when the caller has exited.
    ///
    /// A caller that is not known yet is an application of its own until ``caller(_:of:)``.
    ///
    /// - Throws: `limitsExceeded` if the requests of the application that have no answer yet are too many or too large.
    func count(_ load: inout RequestLoad, of name: BusName?) throws(OpenURLError) {
        load.account = name.flatMap { known[$0]?.account } ?? name?.rawValue ?? ""
        try check(load, for: load.account)
        add(load)
    }

    /// Counts a request to another application: the caller is known now.
    ///
    /// - Throws: `limitsExceeded`.
    func move(_ load: inout RequestLoad, to account: String) throws(OpenURLError) {
        guard account != load.account else { return }
        remove(load)
        defer { add(load) }
        try check(load, for: account)
        load.account = account
    }

    /// Notes that a request has its answer.
    func discount(_ load: RequestLoad) {
        remove(load)
        freedMemory.requestEnded()
    }

    private func add(_ load: RequestLoad) {
        unanswered.add(1, to: load.account)
        unansweredBytes.add(load.bytes, to: load.account)
        unansweredDescriptors.add(load.descriptors, to: load.account)
    }

    private func remove(_ load: RequestLoad) {
        unanswered.remove(1, from: load.account)
        unansweredBytes.remove(load.bytes, from: load.account)
        unansweredDescriptors.remove(load.descriptors, from: load.account)
    }

    private func check(_ load: RequestLoad, for account: String) throws(OpenURLError) {
        if unansweredDescriptors.refusal(of: account, load.descriptors) != nil {
            throw OpenURLError(.limitsExceeded, "URLs without an answer hold too many descriptors")
        }
        guard let refusal = unanswered.refusal(of: account, 1) ?? unansweredBytes.refusal(of: account, load.bytes)
        else {
            return
        }
        throw OpenURLError(
            .limitsExceeded,
            refusal == .isFull
                ? "\(unanswered.total) URLs have no answer yet"
                : "\(unanswered[account]) URLs of \(account) have no answer yet, and one sender gets at most half of what is left"
        )
    }

    /// Performs a query of a caller that takes much work, unless its application makes too many at once.
    ///
    /// - Throws: `limitsExceeded`, and the errors of `body`.
    func querying<Result>(_ name: BusName?, _ body: () async throws -> Result) async throws -> Result {
        try await holding(1, of: \.queries, name, body) { count, account in
            "\(count) lists are being made for \(account); wait for them before you ask for the next"
        }
    }

    /// Performs a call with several URLs, unless the calls of the caller's application have too many.
    ///
    /// The URLs are counted until the last one has its outcome, also when the caller has exited before.
    ///
    /// - Parameter count: the number of URLs, with the fallbacks that each may need.
    /// - Throws: `limitsExceeded`, and the errors of `body`.
    func batching<Result>(_ count: Int, _ name: BusName?, _ body: () async throws -> Result) async throws -> Result {
        try await holding(count, of: \.batchedURLs, name, body) { held, account in
            "\(held) URLs of \(account) in calls with several URLs have no answer yet, and \(count) more are too many"
        }
    }

    private func holding<Result>(
        _ amount: Int,
        of shares: ReferenceWritableKeyPath<Callers, Shares<String>>,
        _ name: BusName?,
        _ body: () async throws -> Result,
        refusal: (_ held: Int, _ account: String) -> QuotingText
    ) async throws -> Result {
        let account = await caller(name).account
        guard self[keyPath: shares].refusal(of: account, amount) == nil else {
            throw OpenURLError(.limitsExceeded, refusal(self[keyPath: shares][account], account))
        }
        self[keyPath: shares].add(amount, to: account)
        defer {
            self[keyPath: shares].remove(amount, from: account)
            freedMemory.requestEnded()
        }
        return try await body()
    }
}

/// The amounts that a request makes the router hold until the answer.
struct RequestLoad {
    /// The application of the caller, or the caller's unique name until the caller is known.
    var account = ""
    /// The size of the call's arguments.
    let bytes: Int
    /// The number of descriptors in the call's arguments.
    let descriptors: Int
}
