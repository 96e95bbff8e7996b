public import DBus
internal import DequeModule
internal import Desktop
internal import Glibc
public import Logging
internal import OpenURLBus
internal import RFC1808
internal import Reactor
public import SchemeRegistry
internal import SystemPackage

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
        /// How many handlers and commands may open each other in a row.
        public var hops: UInt32 = 8
        /// How long what a command opens follows from its own URL.
        public var commandPeriod = Duration.seconds(10)
        /// How long a URL waits for its handler to be done with the URL that it follows from.
        public var circleTimeout = Duration.seconds(1)
        /// How long a whole open may take, where neither the caller nor the manifest says so. It is below the 25 s after
        /// which D-Bus callers give up.
        public var openTimeout = Duration.seconds(20)
        /// How long a launch may take ("What to Do at Launch Time": five seconds).
        public var launchTimeout = Duration.seconds(5)
        /// How long a handler may take to go to the background, to get ready to be stopped, and to take its name back when
        /// it is woken (five seconds, as for the launch).
        public var phaseTimeout = Duration.seconds(5)
        /// How long a handler runs in the background before it is suspended, where its manifest does not say so.
        public var suspendDelay = Duration.seconds(10)
        /// How long the background tasks of a handler may take in all.
        public var backgroundTime = Duration.seconds(180)
        /// How long before the end of that time their expiration handlers are called.
        public var expirationNotice = Duration.seconds(1)
        /// How many background tasks a handler may have open at once.
        public var tasksPerHandler = 1024
        /// How many kinds of notifications are kept for a suspended handler.
        public var notificationKinds = 64
        /// How often a handler may crash within ``crashPeriod`` until it is not started for ``quarantine``.
        public var crashes = 3
        /// The time in which crashes count together.
        public var crashPeriod = Duration.seconds(10)
        /// How long a handler that crashes too often is not started.
        public var quarantine = Duration.seconds(30)
        /// How long the command of an application is watched for an end that says no.
        public var settleTime = Duration.seconds(1)
        /// How many commands of one application may be in that time at once.
        public var commandsPerApplication = 64
        /// How long a handler may take to end after it gave its name back ("App Termination": five seconds).
        public var endTimeout = Duration.seconds(5)

        /// The limits of the documents.
        public init() {}
    }

    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let loop: EventLoop
    let bus: any HandlerBus
    let launcher: HandlerLauncher
    let limits: Limits
    let log: Logger
    /// What is delivered later; nil where there is no place for it.
    let queue: DeliveryQueue?

    private(set) var registry: Registry
    private var registryNumber = 0
    var sessions: [BusName: HandlerSession] = [:]
    var senders = Senders()
    var lastNumber: UInt64 = 0
    var requestsByCaller: [BusName?: Int] = [:]
    /// The handler in the foreground: there is one at most.
    var foreground: HandlerSession?
    var startingCommands: [DesktopFileID: [StartingCommand]] = [:]
    var commandHops: CommandHops

    /// Makes a router.
    ///
    /// - Parameters:
    ///   - connection: the session bus; its event loop becomes the router's.
    ///   - deliveries: what was accepted for later; nil if nothing is.
    ///   - environment: the router's own environment; handlers inherit it without what was meant for the router alone.
    ///   - log: gets what handlers write, too, where there is no journald to take it.
    public init(
        registry: Registry,
        connection: Connection,
        environment: [String: String],
        limits: Limits = Limits(),
        deliveries: DeliveryStore? = nil,
        log: Logger
    ) {
        self.init(
            registry: registry,
            bus: ConnectedHandlers(connection: connection),
            loop: connection.loop,
            environment: environment,
            scopes: ProcessScopes(connection, log: log),
            limits: limits,
            deliveries: deliveries,
            log: log
        )
    }

    init(
        registry: Registry,
        bus: any HandlerBus,
        loop: EventLoop,
        environment: [String: String],
        scopes: ProcessScopes? = nil,
        limits: Limits,
        deliveries: DeliveryStore? = nil,
        log: Logger
    ) {
        self.registry = registry
        self.bus = bus
        self.loop = loop
        self.limits = limits
        commandHops = CommandHops(for: limits.commandPeriod)
        self.log = log
        queue = deliveries.map { DeliveryQueue($0, on: loop) }
        launcher = HandlerLauncher(
            environment: SessionEnvironment.clean(environment),
            loop: loop,
            output: HandlerOutput(loop: loop, log: log),
            scopes: scopes
        )
    }

    // MARK: Requests

    /// Opens a URL for a caller and returns when the handler has said yes.
    ///
    /// - Throws: ``OpenURLError``.
    func open(_ url: String, _ options: OpenOptions, caller: BusName?) async throws(OpenURLError) -> OpenResult {
        var noHandler: OpenURLError?
        for candidate in [url] + options.fallback {
            do throws(OpenURLError) {
                if options.isQueued { return try await enqueue(candidate, options, caller: caller) }
                var result = try await openOnly(candidate, options, caller: caller)
                if noHandler != nil { result.path = .fallback }
                return result
            } catch {
                guard error.code == .noHandler else { throw error }
                // What the sender wanted is what it is told about.
                noHandler = noHandler ?? error
            }
        }
        throw noHandler ?? OpenURLError(.noHandler, "there is no URL")
    }

    func openOnly(
        _ text: String,
        _ options: OpenOptions,
        caller: BusName?
    ) async throws(OpenURLError) -> OpenResult {
        let url = try parse(text)
        let scheme = try scheme(of: url)
        let claimant = try claimant(for: scheme, host: url.host.map(String.init), options)
        return try await withRequest(of: caller) { () async throws(OpenURLError) in
            switch claimant {
            case .handler(let handler):
                return try await open(text, with: handler, options, from: .caller(caller))
            case .application(let application):
                let timeout = options.timeout ?? limits.openTimeout
                var request = ApplicationRequest(text, application, options, timeout: timeout)
                let source = await source(of: caller)
                request.hops = try hops(from: source, sendingSession(source))
                return try await open(request)
            }
        }
    }

    /// Does what a caller asked for, if it has not asked for too much that has no answer yet.
    func withRequest<Result>(
        of caller: BusName?,
        _ body: () async throws(OpenURLError) -> Result
    ) async throws(OpenURLError) -> Result {
        let count = requestsByCaller[caller, default: 0]
        guard count < limits.requestsPerCaller else {
            throw OpenURLError(.limitsExceeded, "\(count) URLs of this caller have no answer yet")
        }
        requestsByCaller[caller] = count + 1
        defer {
            let count = requestsByCaller[caller, default: 1]
            requestsByCaller[caller] = count > 1 ? count - 1 : nil
        }
        return try await body()
    }

    func open(
        _ text: String,
        with handler: Handler,
        _ options: OpenOptions,
        from origin: OpenRequest.Origin
    ) async throws(OpenURLError) -> OpenResult {
        let session = session(for: handler)
        guard session.waiting.count < limits.waitingPerHandler else {
            throw OpenURLError(.limitsExceeded, "\(session.waiting.count) URLs wait for \(session.id) already")
        }

        lastNumber += 1
        let timeout = options.timeout ?? handler.manifest.openTimeout ?? limits.openTimeout
        let request = OpenRequest(number: lastNumber, .open(text), timeout: timeout, options: options)
        if case .queue(_, let handover) = origin { request.handover = handover }
        defer { end(request, session) }
        // Its place in the queue is its place of arrival, even while the bus is asked who sent it.
        session.enqueue(request)
        do throws(OpenURLError) {
            request.context =
                switch origin {
                case .caller(let caller): try context(of: request, await source(of: caller), for: session)
                case .queue(let context, _): try self.context(of: request, accepted: context, for: session)
                }
        } catch {
            session.remove(request)
            perform(.deliver, session)
            throw error
        }
        return try await deliver(request, session)
    }

    func parse(_ text: String) throws(OpenURLError) -> GenericURL {
        do throws(GenericURL.ParseError) {
            return try GenericURL(text)
        } catch {
            let code: OpenURLError.Code = error.reason == .tooLong ? .limitsExceeded : .malformedURL
            throw OpenURLError(code, error.description)
        }
    }

    func scheme(of url: GenericURL) throws(OpenURLError) -> Scheme {
        guard let text = url.lowercasedScheme else {
            throw OpenURLError(
                .malformedURL,
                "at byte offset 0: the URL has no scheme; it has to start with one, as in todolist:"
            )
        }
        do throws(Scheme.ParseError) {
            return try Scheme(text)
        } catch {
            throw OpenURLError(.noHandler, "no handler can claim the scheme: it \(error)")
        }
    }

    /// What gets the URL: a handler with a program, or an application.
    func claimant(for scheme: Scheme, host: String?, _ options: OpenOptions) throws(OpenURLError) -> Claimant {
        let winner: Claimant
        if let wanted = options.handler {
            let candidates = registry.candidates(for: scheme, host: host)
            guard let candidate = candidates.first(where: { $0.claimant.id == wanted }) else {
                throw OpenURLError(
                    .noHandler,
                    "\(wanted) does not claim \(scheme): here; 'openurl list' shows who does"
                )
            }
            winner = candidate.claimant
        } else {
            guard let first = registry.winner(for: scheme, host: host) else {
                throw OpenURLError(.noHandler, noHandlerMessage(scheme, host))
            }
            winner = first
        }
        guard case .handler(let handler) = winner, handler.program == nil else { return winner }
        do throws(NoApplication) {
            return .application(try registry.application(for: scheme))
        } catch {
            throw OpenURLError(.noHandler, error.description)
        }
    }

    func noHandlerMessage(_ scheme: Scheme, _ host: String?) -> String {
        guard registry.claimants(of: scheme).isEmpty else {
            return "no handler claims \(scheme): for the host '\(host ?? "")'; 'openurl list' shows the handlers"
        }
        return "no handler claims the scheme \(scheme):; register one with 'openurl register PATH'"
    }

    func session(for handler: Handler) -> HandlerSession {
        // The identifier follows the same rule as a bus name.
        let id = BusName(stringLiteral: handler.id.rawValue)
        let session = sessions[id] ?? HandlerSession(handler, id, limits)
        session.handler = handler
        session.machine.launchTimeout = handler.manifest.launchTimeout ?? limits.launchTimeout
        session.machine.exitsOnSuspend = handler.manifest.exitsOnSuspend
        sessions[id] = session
        return session
    }

    func end(_ request: OpenRequest, _ session: HandlerSession) {
        request.cause = nil
        // What followed from this request has waited for its end.
        if !session.waiting.isEmpty { perform(.deliver, session) }
    }

    // MARK: The registry and its state

    /// Uses another registry from now on; what runs goes on. One that was read before the one in use is left alone.
    ///
    /// - Returns: the schemes whose URLs go to another handler than before, to be announced. Of one that is left alone,
    ///   they are those for which the one in use was the second change.
    func use(_ snapshot: RegistrySnapshot) -> [String] {
        if snapshot.number > registryNumber {
            registryNumber = snapshot.number
            registry = snapshot.registry
        }
        return snapshot.changed
    }

    /// Whether a URL has a handler that the caller may reach.
    ///
    /// A handler asks only about schemes that its manifest lists (`LSApplicationQueriesSchemes`); for any other the answer
    /// is no, so that nobody learns what is installed.
    func canOpen(_ text: String, caller: BusName?) async throws(OpenURLError) -> Bool {
        let url = try parse(text)
        let claimant: Claimant
        do throws(OpenURLError) {
            claimant = try self.claimant(for: scheme(of: url), host: url.host.map(String.init), OpenOptions())
        } catch {
            guard error.code == .noHandler else { throw error }
            return false
        }
        let sender = sendingSession(await source(of: caller))
        if let sender {
            let queries = sender.handler.manifest.queriesSchemes
            guard queries.contains(where: { $0.rawValue == url.lowercasedScheme }) else { return false }
        }
        guard case .handler(let handler) = claimant else { return true }
        do throws(OpenURLError) {
            try checkSource(sender?.handler.id, mayOpen: handler)
            return true
        } catch {
            return false
        }
    }

    /// The state of each handler.
    func status() async -> [HandlerStatus] {
        var statuses: [HandlerStatus] = []
        for handler in registry.handlers where handler.program != nil {
            let session = session(for: handler)
            await find(session)
            // What others have told it, only it knows.
            if case .running(let owner, .inactive) = session.machine.state { await askForState(session, owner) }
            var status = HandlerStatus(id: handler.id.rawValue, state: .known(state(of: session)))
            if let process = session.process, process.exit == nil {
                status.pid = UInt32(exactly: process.pid)
                status.since = session.since
                status.residentMemory = ProcessMemory.resident(pid: process.pid)
            }
            status.backgroundTasks = session.tasks.sorted { $0.key < $1.key }.map(\.value)
            statuses.append(status)
        }
        return statuses
    }

    /// Finds the handlers that run already, as after the end of another router. Call it when the name is owned.
    public func adoptRunning() async {
        do throws(CallError) {
            for name in try await bus.names() {
                guard let handler = registry.handler(named: name.rawValue), handler.program != nil else { continue }
                await find(session(for: handler))
            }
        } catch {
            log.error("the bus does not say who runs: \(error)")
        }
    }

    /// Relieves memory whenever the kernel says that programs wait for it, where it says so. Call it once.
    public func watchMemory() {
        do throws(Errno) {
            try PressureWatch.start(on: loop) { [unowned self] in
                assumeIsolated { $0.relieveMemory() }
            }
        } catch {
            log.debug("memory pressure is not noticed: \(error)")
        }
    }

    func adopt(_ session: HandlerSession) async {
        do throws(CallError) {
            guard let owner = try await owner(of: session), session.machine.state == .notRunning else { return }
            ownerChanged(to: owner, session.id)
            await identify(owner, session)
        } catch {
            log.error("the bus does not answer: \(error)")
        }
    }

    func state(of id: BundleIdentifier) -> HandlerState {
        sessions[BusName(stringLiteral: id.rawValue)].map(state(of:)) ?? .notRunning
    }

    func state(of session: HandlerSession) -> HandlerState {
        switch session.machine.state {
        case .notRunning, .lookingForOwner, .lostProcess: .notRunning
        case .starting, .ending, .running(_, .inactive), .running(_, .leaving): .inactive
        case .running(_, .foreground): .active
        case .running(_, .background), .suspending: .background
        case .suspended, .waking: .suspended
        }
    }
}
