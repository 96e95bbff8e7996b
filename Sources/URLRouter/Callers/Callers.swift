internal import DBus
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import SchemeRegistry

/// The router's callers: who they are, how many requests they have, and how many openings led to those requests.
///
/// This belongs to the router's actor.
final class Callers {
    private let bus: any BusNames
    private let limits: RouterLimits
    let sessions: HandlerSessions
    private var known = KnownCallers()
    private let commandHops: CommandHops
    /// Closed until the running handlers are known, because a sender may be one of them.
    private let gate = TaskGate()
    /// Requests without an answer, by their callers' applications.
    private(set) var unanswered: LoadShares<String>
    /// Lists that are being compiled, by their callers' applications.
    private var queries: Shares<String>
    /// URLs from calls with several URLs, by their callers' applications.
    private var batchedURLs: Shares<String>
    private let freedMemory: FreedMemory

    init(_ bus: any BusNames, _ limits: RouterLimits, _ sessions: HandlerSessions, _ commandHops: CommandHops) {
        self.bus = bus
        self.limits = limits
        self.sessions = sessions
        self.commandHops = commandHops
        unanswered = LoadShares(
            limit: CallLoad(
                calls: limits.requests,
                bytes: limits.requestBytes,
                descriptors: limits.requestDescriptors
            )
        )
        queries = Shares(limit: limits.queries)
        batchedURLs = Shares(limit: limits.batchedURLs)
        freedMemory = FreedMemory(on: sessions.shared.loop)
    }

    // MARK: Identity

    /// Looks up a caller.
    ///
    /// - Parameter name: the caller's unique name; nil on a connection without a bus.
    func caller(_ name: BusName?) async -> Caller {
        let known = if let name, let entry = self.known[name] { entry } else { await identify(name) }
        if gate.isClosed { await gate.wait() }
        await sessions.shared.launcher.waitForStart(of: known.process?.pid)
        // While this waited, the caller may have been looked up again.
        guard let name, self.known[name].map({ $0 === known }) != false else { return caller(known, name) }
        return chargedCaller(known, name)
    }

    /// Looks up a caller without waiting, as is possible for most callers; returns nil for any other.
    func knownCaller(_ name: BusName?) -> Caller? {
        guard !gate.isClosed, !sessions.shared.launcher.started.areStarting, let name, let entry = known[name] else {
            return nil
        }
        return chargedCaller(entry, name)
    }

    /// Returns a caller. From now on, the connection charges the same account for calls, so that one confined program
    /// cannot keep a processor busy.
    private func chargedCaller(_ known: KnownCallers.Entry, _ name: BusName) -> Caller {
        let caller = caller(known, name)
        let isPaced = caller.callerClass.isConfined
        if known.account != caller.account || known.isPaced != isPaced {
            known.isPaced = bus.count(name, to: caller.account, isPaced: isPaced) ? isPaced : nil
        }
        known.account = caller.account
        return caller
    }

    /// Looks up a caller for a method that is not open to every program, and checks its process again. If the process
    /// has exited, or now runs another program, the caller is treated as unknown from now on.
    func confirmedCaller(_ name: BusName?) async -> Caller {
        let caller = await caller(name)
        guard let name, let entry = known[name], !entry.isUnchanged else { return caller }
        known.add(name, KnownCallers.Entry(name, nil))
        return await self.caller(name)
    }

    private func caller(_ known: KnownCallers.Entry, _ name: BusName?) -> Caller {
        guard let process = known.process, let name else { return known.caller(ofCommand: nil) }
        let command = commandHops.id(of: process.pid)
        guard let session = sessions.session(ofProcess: process, name) else { return known.caller(ofCommand: command) }
        var source = known.source
        // A handler may have started another application's sandbox.
        if source.callerClass == .known(.sandboxed),
            !session.isItself(process, name, inSandboxOf: source.application)
        {
            return known.caller(ofCommand: command)
        }
        source.application = session.handler.id.rawValue
        // If a handler is in a sandbox, it has the sandbox's rights, but its own identifier.
        if source.callerClass == .known(.user) { source.callerClass = .known(.handler) }
        return Caller(source, session, pid: process.pid, command: command)
    }

    /// Makes caller look-ups wait for ``release()``.
    func hold() { gate.close() }

    /// Returns when the running handlers are known.
    func waitForRelease() async { await gate.wait() }

    /// Releases the look-ups that ``hold()`` has held up.
    func release() {
        gate.open()
        freedMemory.startEnded()
    }

    private func identify(_ name: BusName?) async -> KnownCallers.Entry {
        guard let name else { return KnownCallers.Entry(source: OpenContext.Source(), process: nil) }
        let credentials: Credentials?
        do throws(CallError) {
            credentials = try await bus.credentials(of: name)
        } catch {
            // The caller has already exited. Its URL is still delivered, but from an unknown sender.
            credentials = nil
        }
        let entry = KnownCallers.Entry(name, credentials)
        if credentials != nil { known.add(name, entry) }
        return entry
    }

    // MARK: Context

    /// Returns the context of a caller's request, for the handler or application that gets the URL.
    ///
    /// - Parameters:
    ///   - handlers: the handlers that may refuse the caller.
    ///   - openings: if the request answers the caller's own URL, the number of openings that led to that URL; nil for
    ///     a request that the caller has made.
    /// - Throws: `notAllowed` if a handler accepts nothing from the caller, `loopDetected` for too many openings in a
    ///   row.
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

    /// Checks an earlier context again, because the handler's manifest may have changed.
    func check(_ context: OpenContext, for handlers: [Handler]) throws(OpenURLError) {
        // The handler itself has registered for its pushes.
        if context.push != nil { return }
        var sender: BundleIdentifier?
        if let text = context.sourceApplication {
            do throws(BundleIdentifier.ParseError) {
                sender = try BundleIdentifier(text)
            } catch {
                throw OpenURLError(.notAllowed, "the sender is unknown: \(error)")
            }
        }
        // The handler itself has scheduled its notifications.
        for handler in handlers where context.localNotification == nil || handler.id != sender {
            try handler.checkAccess(of: sender, context.source.callerClass.known ?? .unknown)
        }
    }

    /// Returns the number of openings that led to a request by this caller. It is zero unless the caller is a handler,
    /// or a command that was started for a URL.
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

    /// Counts a caller's unanswered request until ``discount(_:)``, even if the caller exits before that.
    ///
    /// Until ``caller(_:)`` has looked it up, a new caller is treated as a separate application.
    ///
    /// - Throws: `limitsExceeded` if the application's unanswered requests are too many or too large.
    func count(_ load: inout RequestLoad, of name: BusName?) throws(OpenURLError) {
        load.account = name.flatMap { known[$0]?.account } ?? name?.rawValue ?? ""
        if let excess = unanswered.take(load.counted, for: load.account) { throw error(excess, load.account) }
    }

    /// Charges another application for a request, now that the caller is known.
    ///
    /// - Throws: `limitsExceeded`.
    func move(_ load: inout RequestLoad, to account: String) throws(OpenURLError) {
        guard account != load.account else { return }
        unanswered.remove(load.counted, from: load.account)
        if let excess = unanswered.take(load.counted, for: account) {
            unanswered.add(load.counted, to: load.account)
            throw error(excess, account)
        }
        load.account = account
    }

    /// Notes that a request has been answered.
    func discount(_ load: RequestLoad) {
        unanswered.remove(load.counted, from: load.account)
        freedMemory.requestEnded()
    }

    private func error(_ excess: LoadShares<String>.Excess, _ account: String) -> OpenURLError {
        if excess.resource == .descriptors {
            return OpenURLError(.limitsExceeded, "URLs without an answer hold too many descriptors")
        }
        return OpenURLError(
            .limitsExceeded,
            excess.refusal == .isFull
                ? "\(unanswered.total.calls) URLs have no answer yet"
                : "\(unanswered[account].calls) URLs of \(account) have no answer yet, and one sender gets at most half of what is left"
        )
    }

    /// Performs a caller's expensive query, unless the caller's application makes too many at the same time.
    ///
    /// - Throws: `limitsExceeded`, and any error from `body`.
    func querying<Result>(_ name: BusName?, _ body: () async throws -> Result) async throws -> Result {
        try await holding(1, of: \.queries, name, body) { count, account in
            "\(count) long calls of \(account) have no answer yet; wait for one before you make the next"
        }
    }

    /// Performs a call with several URLs, unless there are already too many in the calls from the caller's application.
    ///
    /// All URLs are counted until the last one has its outcome, even if the caller exits before that.
    ///
    /// - Parameter count: the number of URLs, including the fallbacks that each may need.
    /// - Throws: `limitsExceeded`, and any error from `body`.
    func batching<Result>(_ count: Int, _ name: BusName?, _ body: () async throws -> Result) async throws -> Result {
        try await holding(count, of: \.batchedURLs, name, body) { held, account in
            "\(held) URLs of \(account) in calls with several URLs have no answer yet, and \(count) more would be too many"
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

/// The amounts that a request makes the router hold until it is answered.
struct RequestLoad {
    /// The caller's application, or the caller's unique name until it is known.
    var account = ""
    /// Size of the call's arguments.
    let bytes: Int
    /// Number of descriptors in the call's arguments.
    let descriptors: Int

    /// The amounts without the account.
    var counted: CallLoad { CallLoad(bytes: bytes, descriptors: descriptors) }
}
