public import DBus
internal import DequeModule
internal import Glibc
public import Logging
internal import OpenURLBus
internal import RFC1808
internal import Reactor
public import SchemeRegistry

/// Takes URLs to the handlers of their schemes: launches or wakes, hands over, and says how it went.
///
/// A request belongs to the router from the moment it arrives: it goes on when its sender has gone. Requests for one
/// handler are handed over in the order of their arrival, whoever sent them. Every request ends: with the handler's
/// answer, or with one ``OpenURLError``, within its time limit.
///
/// The router runs on the event loop of its connection, so that between a message and its decision there is no change of
/// thread and order is the order of arrival.
public actor URLRouter {
    /// How much the router takes.
    public struct Limits: Sendable, Hashable {
        /// Requests of one caller that have no answer yet.
        public var requestsPerCaller = 4096
        /// Requests that wait for one handler.
        public var waitingPerHandler = 16_384
        /// How many handlers may open each other in a row.
        public var hops: UInt32 = 8
        /// How long a whole open may take, where neither the caller nor the manifest says so. It is below the 25 s after
        /// which D-Bus callers give up.
        public var openTimeout = Duration.seconds(20)
        /// How long a launch may take ("What to Do at Launch Time": five seconds).
        public var launchTimeout = Duration.seconds(5)
        /// How long a handler may take to end after it gave its name back ("App Termination": five seconds).
        public var endTimeout = Duration.seconds(5)

        /// The limits of the documents.
        public init() {}
    }

    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let loop: EventLoop
    private let bus: any HandlerBus
    private let launcher: HandlerLauncher
    private let limits: Limits
    private let log: Logger

    private(set) var registry: Registry
    private var sessions: [BusName: HandlerSession] = [:]
    private var senders = Senders()
    private var lastNumber: UInt64 = 0
    private var requestsByCaller: [BusName?: Int] = [:]
    private var requests = 0
    private var idleWaiters: [CheckedContinuation<Void, Never>] = []

    /// Makes a router.
    ///
    /// - Parameters:
    ///   - connection: the session bus; its event loop becomes the router's.
    ///   - environment: the router's own environment; handlers inherit it without what was meant for the router alone.
    public init(
        registry: Registry,
        connection: Connection,
        environment: [String: String],
        limits: Limits = Limits(),
        log: Logger
    ) {
        self.init(
            registry: registry,
            bus: ConnectedHandlers(connection: connection),
            loop: connection.loop,
            environment: environment,
            limits: limits,
            log: log
        )
    }

    init(
        registry: Registry,
        bus: any HandlerBus,
        loop: EventLoop,
        environment: [String: String],
        limits: Limits,
        log: Logger
    ) {
        self.registry = registry
        self.bus = bus
        self.loop = loop
        self.limits = limits
        self.log = log
        launcher = HandlerLauncher(environment: SessionEnvironment.clean(environment), loop: loop)
    }

    // MARK: Requests

    /// Opens a URL for a caller and returns when the handler has said yes.
    ///
    /// - Throws: ``OpenURLError``.
    func open(_ url: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> OpenResult {
        do throws(OpenURLError) {
            return try await openOnly(url, options, caller: caller)
        } catch {
            guard error.code == .noHandler else { throw error }
            for fallback in options.fallback {
                do throws(OpenURLError) {
                    var result = try await openOnly(fallback, options, caller: caller)
                    result.path = .fallback
                    return result
                } catch  where error.code == .noHandler {
                    continue
                } catch {
                    throw error
                }
            }
            throw error
        }
    }

    private func openOnly(
        _ text: String,
        _ options: OpenOptions,
        caller: BusName?
    ) async throws(OpenURLError) -> OpenResult {
        let url = try parse(text)
        let handler = try handler(for: url, options)
        let count = requestsByCaller[caller, default: 0]
        guard count < limits.requestsPerCaller else {
            throw OpenURLError(.limitsExceeded, "\(count) URLs of this caller have no answer yet")
        }
        let session = session(for: handler)
        guard session.waiting.count < limits.waitingPerHandler else {
            throw OpenURLError(.limitsExceeded, "\(session.waiting.count) URLs wait for \(session.id) already")
        }

        lastNumber += 1
        let timeout = options.timeout ?? handler.manifest.openTimeout ?? limits.openTimeout
        let request = OpenRequest(number: lastNumber, url: text, caller: caller, timeout: timeout, options: options)
        requestsByCaller[caller] = count + 1
        requests += 1
        defer { end(request) }
        // Its place in the queue is its place of arrival, even while the bus is asked who sent it.
        session.enqueue(request)
        do throws(OpenURLError) {
            request.context = try context(of: request, await source(of: caller), for: session)
        } catch {
            session.remove(request)
            perform(.deliver, session)
            throw error
        }
        return try await deliver(request, session)
    }

    private func parse(_ text: String) throws(OpenURLError) -> GenericURL {
        do throws(GenericURL.ParseError) {
            return try GenericURL(text)
        } catch {
            let code: OpenURLError.Code = error.reason == .tooLong ? .limitsExceeded : .malformedURL
            throw OpenURLError(code, error.description)
        }
    }

    private func handler(for url: GenericURL, _ options: OpenOptions) throws(OpenURLError) -> Handler {
        guard let text = url.lowercasedScheme else {
            throw OpenURLError(
                .malformedURL,
                "byte 0: the URL has no scheme; it has to start with one, as in todolist:"
            )
        }
        let scheme: Scheme
        do throws(Scheme.ParseError) {
            scheme = try Scheme(text)
        } catch {
            throw OpenURLError(.noHandler, "no handler can claim the scheme: it \(error)")
        }
        let host = url.host.map(String.init)
        guard let wanted = options.handler else {
            guard let handler = registry.handler(for: scheme, host: host) else {
                throw OpenURLError(.noHandler, noHandlerMessage(scheme, host))
            }
            guard handler.program != nil else {
                throw OpenURLError(
                    .noHandler,
                    "\(scheme): belongs to the system and goes to the desktop's default application, "
                        + "which this version does not start"
                )
            }
            return handler
        }
        let candidates = registry.candidates(for: scheme, host: host)
        guard let handler = candidates.first(where: { $0.handler.id.rawValue == wanted })?.handler else {
            throw OpenURLError(.noHandler, "\(wanted) does not claim \(scheme): here; 'openurl list' shows who does")
        }
        return handler
    }

    private func noHandlerMessage(_ scheme: Scheme, _ host: String?) -> String {
        guard registry.handlers(claiming: scheme).isEmpty else {
            return "no handler claims \(scheme): for the host '\(host ?? "")'; 'openurl list' shows the handlers"
        }
        return "no handler claims the scheme \(scheme):; register one with 'openurl register PATH'"
    }

    private func session(for handler: Handler) -> HandlerSession {
        // The identifier follows the same rule as a bus name.
        let id = BusName(trusted: handler.id.rawValue)
        if let session = sessions[id] {
            session.handler = handler
            return session
        }
        let launchTimeout = handler.manifest.launchTimeout ?? limits.launchTimeout
        let session = HandlerSession(handler, id, launchTimeout: launchTimeout)
        sessions[id] = session
        return session
    }

    private func end(_ request: OpenRequest) {
        requests -= 1
        if let count = requestsByCaller[request.caller] {
            requestsByCaller[request.caller] = count > 1 ? count - 1 : nil
        }
        if requests == 0 {
            for waiter in idleWaiters { waiter.resume() }
            idleWaiters = []
        }
    }

    /// Returns when every request has its answer.
    public func waitUntilIdle() async {
        guard requests > 0 else { return }
        await withCheckedContinuation { idleWaiters.append($0) }
    }

    // MARK: Senders

    private func source(of caller: BusName?) async -> OpenContext.Source {
        guard let caller else { return OpenContext.Source() }
        if let source = senders[caller] { return source }
        let credentials: Credentials?
        do throws(CallError) {
            credentials = try await bus.credentials(of: caller)
        } catch {
            // It has gone already. Its URL is delivered all the same, from an unknown sender.
            credentials = nil
        }
        let source = Senders.describe(caller, credentials)
        if credentials != nil { senders.add(caller, source) }
        return source
    }

    /// The handler that a process is, while it runs.
    private func sendingSession(_ source: OpenContext.Source) -> HandlerSession? {
        guard let pid = source.pid else { return nil }
        return sessions.values.first { session in
            guard let process = session.process else { return false }
            return process.exit == nil && UInt32(exactly: process.pid) == pid
        }
    }

    private func context(
        of request: OpenRequest,
        _ source: OpenContext.Source,
        for session: HandlerSession
    ) throws(OpenURLError) -> OpenContext {
        let sender = sendingSession(source)
        if let allowed = session.handler.manifest.allowedSources {
            guard let id = sender?.handler.id, allowed.contains(where: { $0.matches(id) }) else {
                throw OpenURLError(
                    .notAllowed,
                    "\(session.id) takes no URLs from \(sender?.id.rawValue ?? "this program")"
                )
            }
        }
        var context = OpenContext()
        context.hops = sender.map { ($0.inHand.values.compactMap(\.context?.hops).max() ?? 0) + 1 } ?? 0
        guard context.hops <= limits.hops else {
            throw OpenURLError(.loopDetected, "\(context.hops) handlers in a row have opened each other")
        }
        context.sourceApplication = sender?.id.rawValue
        context.source = source
        context.annotation = request.options.annotation
        context.activationToken = request.options.activationToken
        context.desktopStartupID = request.options.desktopStartupID
        context.accepted = request.accepted
        return context
    }

    // MARK: Delivery

    private func deliver(_ request: OpenRequest, _ session: HandlerSession) async throws(OpenURLError) -> OpenResult {
        while true {
            if case .waiting = request.turn { perform(session.machine.on(.requested), session) }
            let owner = try await turn(of: request, session)
            session.inHand[request.number] = request
            let answer = await attempt(request, session, owner)
            session.inHand[request.number] = nil
            switch answer {
            case .success(let answer): return try result(answer, request, session, owner)
            case .failure(let error):
                let isUndelivered = Self.isUndelivered(error)
                guard isUndelivered else { throw failure(error, request, session, owner) }
                // That process has not seen it, so it goes to the next one.
                if session.owner == owner { perform(session.machine.on(.refusesMore), session) }
                session.enqueue(request)
            }
        }
    }

    /// Waits until the handler is ready and everything that came before has been handed over.
    private func turn(of request: OpenRequest, _ session: HandlerSession) async throws(OpenURLError) -> BusName {
        switch request.turn {
        case .granted(let owner): return owner
        case .refused(let error): throw error
        case .waiting, .suspended: break
        }
        request.timer = loop.schedule(at: request.deadline) {
            self.expire(request, session)
        }
        let result = await withCheckedContinuation { request.turn = .suspended($0) }
        if let timer = request.timer { loop.cancelTimer(timer) }
        return try result.get()
    }

    private func expire(_ request: OpenRequest, _ session: HandlerSession) {
        guard case .suspended = request.turn else { return }
        session.remove(request)
        let error = OpenURLError(
            .timedOut,
            "\(session.id) was not ready within \(request.timeout); it did not get the URL"
        )
        request.resolve(.failure(error))
        perform(.deliver, session)
    }

    private func attempt(
        _ request: OpenRequest,
        _ session: HandlerSession,
        _ owner: BusName
    ) async -> Result<OpenAnswer, CallError> {
        guard let context = request.context else { return .failure(.cancelled) }
        // The handler may have given its name back since the request was granted, and then counts on getting nothing more.
        guard session.owner == owner else {
            return .failure(.remote(RemoteError(.nameHasNoOwner, "\(session.id) is ending")))
        }
        if request.causedLaunch { request.addPhase("ready") }
        let left = ContinuousClock.now.duration(to: request.deadline)
        guard left > .zero else { return .failure(.timedOut) }
        do throws(CallError) {
            return .success(try await bus.open(request.url, context, with: session.id, at: owner, timeout: left))
        } catch {
            return .failure(error)
        }
    }

    private func result(
        _ answer: OpenAnswer,
        _ request: OpenRequest,
        _ session: HandlerSession,
        _ owner: BusName
    ) throws(OpenURLError) -> OpenResult {
        finishLaunch(session, owner)
        guard answer.isHandled else { throw OpenURLError(.declined, "\(session.id) declined the URL") }
        return OpenResult(
            handler: session.id.rawValue,
            path: request.causedLaunch ? .launched : .active,
            reply: answer.reply,
            trace: request.trace + answer.trace
        )
    }

    /// Whether the error says that no process has seen the URL.
    private static func isUndelivered(_ error: CallError) -> Bool {
        if case .remote(let error) = error { error.isFromMissingService } else { false }
    }

    private func failure(
        _ error: CallError,
        _ request: OpenRequest,
        _ session: HandlerSession,
        _ owner: BusName
    ) -> OpenURLError {
        let id = session.id
        switch error {
        case .remote(let error) where error.name == .noReply || error.name == .disconnected:
            return session.verdict
                ?? OpenURLError(.handlerCrashed, "\(id) ended before it answered; it may have acted on the URL")
        case .remote(let error) where error.isFromMissingMethod:
            return OpenURLError(
                .launchFailed,
                "the process that owns \(id) is no handler: it lacks \(HandlerInterface.name).Open at \(ObjectPath(for: id))"
            )
        case .remote(let error):
            finishLaunch(session, owner)
            // A handler in another language says no by raising an error of its own.
            return Self.handlersOwn(error)
                ?? OpenURLError(.declined, error.message.isEmpty ? error.name.rawValue : error.message)
        case .timedOut:
            return OpenURLError(.timedOut, "open of \(id) did not return within \(request.timeout)")
        case .unexpectedReply(let error):
            return OpenURLError(
                .declined,
                "\(id) answered with something else than '\(OpenAnswer.signature)': \(error)"
            )
        case .notSent(let error):
            return OpenURLError(.limitsExceeded, "the URL cannot be handed to \(id): \(error)")
        case .cancelled, .disconnected:
            return OpenURLError(.handlerCrashed, "the session bus ended before \(id) answered")
        }
    }

    /// The error, where it is one that a handler may answer with; the others are the router's to say.
    private static func handlersOwn(_ error: RemoteError) -> OpenURLError? {
        guard let error = OpenURLError(error) else { return nil }
        return switch error.code {
        case .declined, .launchVetoed, .limitsExceeded, .malformedURL: error
        default: nil
        }
    }

    private func finishLaunch(_ session: HandlerSession, _ owner: BusName) {
        guard session.owner == owner, let timer = session.launchTimer else { return }
        loop.cancelTimer(timer)
        session.launchTimer = nil
    }

    // MARK: Effects of the machine

    private func perform(_ effects: [HandlerMachine.Effect], _ session: HandlerSession) {
        for effect in effects { perform(effect, session) }
    }

    private func perform(_ effect: HandlerMachine.Effect, _ session: HandlerSession) {
        switch effect {
        case .lookForOwner: Task { await lookForOwner(of: session) }
        case .launch: launch(session)
        case .identify(let owner):
            session.verdict = nil
            Task { await identify(owner, session) }
        case .deliver:
            guard let owner = session.owner else { return }
            while let request = session.waiting.first, request.context != nil {
                session.waiting.removeFirst()
                request.resolve(.success(owner))
            }
        case .failWaiting(let error):
            stopTimers(session)
            log.warning("\(error.message)", metadata: ["handler": "\(session.id)"])
            // Those whose sender is still being asked for are in the queue too, and find their turn refused.
            let waiting = session.waiting
            session.waiting = []
            for request in waiting { request.resolve(.failure(error)) }
        case .checkLaunch(let owner): Task { await checkLaunch(of: session, owner) }
        case .kill: end(session)
        case .blame(let error):
            log.warning("\(error.message)", metadata: ["handler": "\(session.id)"])
            session.verdict = error
        case .startEndWatchdog:
            stopTimers(session)
            session.endTimer = loop.schedule(at: .now + limits.endTimeout) {
                self.perform(session.machine.on(.endTimedOut), session)
            }
        case .restartIfWaiting:
            stopTimers(session)
            session.process = nil
            if !session.waiting.isEmpty { perform(session.machine.on(.requested), session) }
        }
    }

    /// Ends a process that was started here; one that somebody else started is theirs to end, and is let go.
    private func end(_ session: HandlerSession) {
        guard let process = session.process, !process.isChild else {
            session.process?.kill()
            return
        }
        process.release()
        perform(session.machine.on(.exited(.unknown)), session)
    }

    private func stopTimers(_ session: HandlerSession) {
        if let timer = session.launchTimer { loop.cancelTimer(timer) }
        if let timer = session.endTimer { loop.cancelTimer(timer) }
        session.launchTimer = nil
        session.endTimer = nil
    }

    private func lookForOwner(of session: HandlerSession) async {
        do throws(CallError) {
            perform(session.machine.on(.found(owner: try await owner(of: session))), session)
        } catch {
            // Only a bus that has gone gives no answer, and then there is nobody left to open anything for.
            log.error("the bus does not answer: \(error)")
        }
    }

    /// Who owns the handler's name; from then on every change is told to the machine.
    private func owner(of session: HandlerSession) async throws(CallError) -> BusName? {
        if !session.isNameWatched {
            session.isNameWatched = true
            let id = session.id
            try await bus.watchOwner(of: id) { [unowned self] _, new in
                assumeIsolated { $0.ownerChanged(to: new, id) }
            }
        }
        return try await bus.owner(of: session.id)
    }

    private func ownerChanged(to owner: BusName?, _ id: BusName) {
        guard let session = sessions[id] else { return }
        perform(session.machine.on(.ownerChanged(owner)), session)
    }

    private func launch(_ session: HandlerSession) {
        do throws(OpenURLError) {
            let process = try launcher.launch(session.handler) { exit in
                self.processEnded(exit, session)
            }
            log.info("started", metadata: ["handler": "\(session.id)", "pid": "\(process.pid)"])
            hold(process, session)
            session.launchTimer = loop.schedule(at: .now + session.machine.launchTimeout) {
                session.launchTimer = nil
                self.perform(session.machine.on(.launchTimedOut), session)
            }
            for request in session.waiting {
                request.causedLaunch = true
                request.addPhase("processStarted")
            }
        } catch {
            perform(session.machine.on(.launchFailed(error)), session)
        }
    }

    private func hold(_ process: ProcessHandle, _ session: HandlerSession) {
        session.process?.release()
        session.process = process
        session.since = UInt64(time(nil))
        session.machine.holdsProcess()
    }

    private func processEnded(_ exit: ProcessExit, _ session: HandlerSession) {
        log.info("\(session.id) \(exit)", metadata: ["handler": "\(session.id)"])
        // A process that lost the race for the name ends too, and says nothing about the one that won.
        guard let process = session.process, process.exit != nil else { return }
        perform(session.machine.on(.exited(exit)), session)
    }

    /// Finds out which process owns the name: not always the one that was started.
    private func identify(_ owner: BusName, _ session: HandlerSession) async {
        do {
            let credentials = try await bus.credentials(of: owner)
            guard session.owner == owner, let pid = credentials.pid else { return }
            if let process = session.process, process.exit == nil, UInt32(exactly: process.pid) == pid { return }
            let process = try launcher.adopt(pid: pid) { exit in
                self.processEnded(exit, session)
            }
            hold(process, session)
        } catch {
            // It ended in the meantime, which the bus tells by itself.
            log.debug("\(session.id) cannot be watched: \(error)")
        }
    }

    private func checkLaunch(of session: HandlerSession, _ owner: BusName) async {
        let phase: String
        do throws(CallError) {
            phase = try await bus.phase(of: session.id, at: owner, timeout: .seconds(1))
        } catch {
            // A handler in another language has no such property and no launch methods: it is ready when it owns its name.
            return
        }
        guard HandlerInterface.launchPhases.contains(phase) else { return }
        perform(session.machine.on(.launchHangs(phase: phase)), session)
    }

    // MARK: The registry and its state

    /// Uses another registry from now on; what runs goes on.
    func use(_ registry: Registry) {
        self.registry = registry
    }

    /// Whether a URL has a handler that the caller may reach.
    ///
    /// A handler asks only about schemes that its manifest lists (`LSApplicationQueriesSchemes`); for any other the answer
    /// is no, so that nobody learns what is installed.
    func canOpen(_ text: String, caller: BusName?) async throws(OpenURLError) -> Bool {
        let url = try parse(text)
        let handler: Handler
        do throws(OpenURLError) {
            handler = try self.handler(for: url, OpenOptions())
        } catch  where error.code == .noHandler {
            return false
        } catch {
            throw error
        }
        let sender = sendingSession(await source(of: caller))?.handler
        if let sender {
            let queries = sender.manifest.queriesSchemes
            guard queries.contains(where: { $0.rawValue == url.lowercasedScheme }) else { return false }
        }
        guard let allowed = handler.manifest.allowedSources else { return true }
        return sender.map { sender in allowed.contains { $0.matches(sender.id) } } ?? false
    }

    /// The state of each handler.
    func status() async -> [HandlerStatus] {
        var statuses: [HandlerStatus] = []
        for handler in registry.handlers where handler.program != nil {
            let session = session(for: handler)
            // A handler that was started by others, and that no URL has gone to, is found now.
            if session.machine.state == .notRunning { await adopt(session) }
            var status = HandlerStatus(id: handler.id.rawValue, state: state(of: session).rawValue)
            if let process = session.process, process.exit == nil {
                status.pid = UInt32(exactly: process.pid)
                status.since = session.since
                status.residentMemory = ProcessMemory.resident(pid: process.pid)
            }
            statuses.append(status)
        }
        return statuses
    }

    private func adopt(_ session: HandlerSession) async {
        do throws(CallError) {
            guard let owner = try await owner(of: session), session.machine.state == .notRunning else { return }
            ownerChanged(to: owner, session.id)
            await identify(owner, session)
        } catch {
            log.error("the bus does not answer: \(error)")
        }
    }

    func state(of id: BundleIdentifier) -> HandlerState {
        sessions[BusName(trusted: id.rawValue)].map(state(of:)) ?? .notRunning
    }

    private func state(of session: HandlerSession) -> HandlerState {
        switch session.machine.state {
        case .notRunning, .lookingForOwner, .lostProcess: .notRunning
        case .starting, .ending: .inactive
        case .running: .active
        }
    }
}
