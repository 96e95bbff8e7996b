import Logging
import OpenURLBus
import Reactor
import SchemeRegistry
import Synchronization
import Testing

@testable import DBus
@testable import URLRouter

/// A bus that the test plays: it says who owns what and answers for the handlers, when the test wants it to.
final class FakeHandlers: HandlerBus {
    /// What the router asked for.
    enum Event: Hashable {
        case askedForOwner(BusName)
        case askedWhoIs(BusName)
        case opened(String, at: BusName)
        case activated(BusName, at: BusName)
        case started(BusName)
        case sentToBackground(BusName)
        case askedToSuspend(BusName)
        case warnedOfMemory(BusName)
        case expired(BusName)
        case notified(BusName, [String: Value])
        case announced(BusName, HandlerState)
        case announcedQueued(String, QueuedURL.State)
    }

    private typealias Answer = CheckedContinuation<Result<OpenAnswer, CallError>, Never>

    private struct Content {
        var owners: [BusName: BusName] = [:]
        var processes: [BusName: UInt32] = [:]
        /// What comes of starting a service: the connection that then owns the name, if one still does.
        var services: [BusName: Result<BusName?, CallError>] = [:]
        /// How long the router waits for services to start.
        var patience: [BusName: Duration] = [:]
        /// Names whose owners the bus does not tell.
        var failingLookups: [BusName: CallError] = [:]
        var platformData: [String: [String: Value]] = [:]
        /// What handlers that were started by others say of themselves.
        var states: [BusName: HandlerState] = [:]
        var watches: [BusName: NameOwnerHandler] = [:]
        var answers: [String: Answer] = [:]
        var contexts: [String: OpenContext] = [:]
        /// Names that are not answered for until the test says so.
        var held: Set<BusName> = []
        var waiting: [BusName: [CheckedContinuation<Void, Never>]] = [:]
        var unread: [Event] = []
        var reader: (wanted: Event, continuation: CheckedContinuation<Void, Never>)?
    }

    let loop: EventLoop
    private let content = Mutex(Content())

    /// - Parameter owners: the connection that owns each handler's name.
    init(_ owners: [BusName: BusName], processes: [BusName: UInt32] = [:]) throws {
        loop = try EventLoop()
        content.withLock {
            $0.owners = owners
            $0.processes = processes
        }
    }

    deinit {
        loop.stop()
    }

    // MARK: The test's side

    /// Makes questions about a name wait for ``release(_:)``.
    func hold(_ name: BusName) {
        content.withLock { _ = $0.held.insert(name) }
    }

    /// Answers the questions about a name, and every later one at once.
    func release(_ name: BusName) {
        let waiting = content.withLock { content in
            content.held.remove(name)
            return content.waiting.removeValue(forKey: name) ?? []
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Gives a name to a connection, or to none, and tells the router.
    func setOwner(of id: BusName, to owner: BusName?) {
        let (watch, old) = content.withLock { content in
            let old = content.owners[id]
            content.owners[id] = owner
            return (content.watches[id], old)
        }
        loop.execute { watch?(old, owner) }
    }

    /// Answers in the handler's place.
    func answer(_ url: String, _ result: Result<OpenAnswer, CallError> = .success(.yes)) {
        content.withLock { $0.answers.removeValue(forKey: url) }?.resume(returning: result)
    }

    /// What the handler was told besides the URL.
    func context(of url: String) -> OpenContext? {
        content.withLock { $0.contexts[url] }
    }

    /// What an application was told besides the URL.
    func platformData(of url: String) -> [String: Value]? {
        content.withLock { $0.platformData[url] }
    }

    /// Decides what comes of starting a service.
    func setService(_ name: BusName, _ outcome: Result<BusName?, CallError>) {
        content.withLock { $0.services[name] = outcome }
    }

    /// How long the router waited at most for a service to start; nil where it has started none.
    func patience(for name: BusName) -> Duration? {
        content.withLock { $0.patience[name] }
    }

    /// Makes the bus answer the question who owns a name with an error.
    func setLookup(_ name: BusName, failsWith error: CallError) {
        content.withLock { $0.failingLookups[name] = error }
    }

    /// Decides which process a connection belongs to.
    func setProcess(of name: BusName, to pid: UInt32) {
        content.withLock { $0.processes[name] = pid }
    }

    /// Returns when the router has asked for this, as often as the test waits for it.
    func wait(for event: Event) async {
        await withCheckedContinuation { continuation in
            let isThere = content.withLock { content in
                if let index = content.unread.firstIndex(of: event) {
                    content.unread.remove(at: index)
                    return true
                }
                content.reader = (event, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// The URLs that were handed over and not waited for, in order.
    var opened: [String] {
        content.withLock { content in
            content.unread.compactMap { event in
                if case .opened(let url, _) = event { url } else { nil }
            }
        }
    }

    /// How often the router has asked for this since the test last waited for it.
    func count(of event: Event) -> Int {
        content.withLock { content in content.unread.count { $0 == event } }
    }

    /// The names whose owner the router watches.
    var watchedNames: [BusName] { content.withLock { Array($0.watches.keys) } }

    private func record(_ event: Event) {
        let continuation = content.withLock { content -> CheckedContinuation<Void, Never>? in
            guard let reader = content.reader, reader.wanted == event else {
                content.unread.append(event)
                return nil
            }
            content.reader = nil
            return reader.continuation
        }
        continuation?.resume()
    }

    private func waitUntilReleased(_ name: BusName) async {
        await withCheckedContinuation { continuation in
            let isHeld = content.withLock { content in
                guard content.held.contains(name) else { return false }
                content.waiting[name, default: []].append(continuation)
                return true
            }
            if !isHeld { continuation.resume() }
        }
    }

    // MARK: The router's side

    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) -> NameWatchID {
        content.withLock { $0.watches[id] = handler }
        return NameWatchID(name: id, number: 0)
    }

    func unwatchOwner(_ watch: NameWatchID) {
        content.withLock { $0.watches[watch.name] = nil }
    }

    func names() async throws(CallError) -> [BusName] {
        content.withLock { Array($0.owners.keys) }
    }

    func owner(of id: BusName) async throws(CallError) -> BusName? {
        record(.askedForOwner(id))
        await waitUntilReleased(id)
        let (owner, error) = content.withLock { ($0.owners[id], $0.failingLookups[id]) }
        if let error { throw error }
        return owner
    }

    func credentials(of name: BusName) async throws(CallError) -> Credentials {
        record(.askedWhoIs(name))
        await waitUntilReleased(name)
        return Credentials(pid: content.withLock { $0.processes[name] }, uid: 1000, processDescriptor: nil)
    }

    func open(
        _ url: String,
        _ context: OpenContext,
        with id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer {
        let result: Result<OpenAnswer, CallError> = await withCheckedContinuation { answer in
            content.withLock {
                $0.answers[url] = answer
                $0.contexts[url] = context
            }
            record(.opened(url, at: owner))
        }
        return try result.get()
    }

    func phase(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String { "" }

    func state(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String {
        content.withLock { $0.states[id] ?? .active }.rawValue
    }

    func enterBackground(_ id: BusName, at owner: BusName) async throws(CallError) {
        record(.sentToBackground(id))
        await waitUntilReleased(id)
    }

    func suspend(_ id: BusName, at owner: BusName) async throws(CallError) -> Bool {
        record(.askedToSuspend(id))
        await waitUntilReleased(id)
        return true
    }

    func receiveMemoryWarning(_ id: BusName, at owner: BusName) async throws(CallError) {
        record(.warnedOfMemory(id))
    }

    func expireBackgroundTasks(_ id: BusName, at owner: BusName) async throws(CallError) {
        record(.expired(id))
    }

    func notify(_ notifications: [String: Value], _ id: BusName, at owner: BusName) async throws(CallError) {
        record(.notified(id, notifications))
    }

    func announce(_ state: QueuedURL.State, ofQueued id: Int64) {
        record(.announcedQueued("\(id)", state))
    }

    func announce(_ state: HandlerState, of id: BusName) {
        record(.announced(id, state))
    }

    func activate(_ name: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        record(.activated(name, at: owner))
    }

    func startService(_ name: BusName, timeout: Duration) async throws(CallError) {
        record(.started(name))
        let outcome = content.withLock { content in
            let outcome = content.services[name] ?? .failure(.fromBus(.serviceUnknown))
            if case .success(let owner) = outcome { content.owners[name] = owner }
            content.patience[name] = timeout
            return outcome
        }
        _ = try outcome.get()
    }

    func openApplication(
        _ url: String,
        _ platformData: [String: Value],
        with name: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) {
        let result: Result<OpenAnswer, CallError> = await withCheckedContinuation { answer in
            content.withLock {
                $0.answers[url] = answer
                $0.platformData[url] = platformData
            }
            record(.opened(url, at: owner))
        }
        _ = try result.get()
    }
}

extension OpenAnswer {
    static var yes: OpenAnswer {
        OpenAnswer(isHandled: true, reply: ["k": "v"], trace: [TracePhase("open", microseconds: 1)])
    }
}

extension CallError {
    static func named(_ name: ErrorName, _ message: String = "told") -> CallError {
        .remote(RemoteError(name, message))
    }

    static func fromBus(_ name: ErrorName, _ message: String = "told") -> CallError {
        .remote(RemoteError(name, message, isFromBus: true))
    }
}

extension URLRouter {
    /// A router of these handlers and applications on a bus that the test plays.
    init(
        _ handlers: [Handler],
        _ applications: Applications = Applications(),
        on bus: FakeHandlers,
        environment: [String: String] = [:],
        limits: RouterLimits = RouterLimits(),
        deliveries: DeliveryStore? = nil,
        log: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) {
        self.init(
            registry: Registry(handlers: handlers, applications: applications),
            bus: bus,
            loop: bus.loop,
            environment: environment,
            limits: limits,
            deliveries: deliveries,
            log: log
        )
    }

    func state(of id: BusName) -> HandlerMachine.State? { sessions[id]?.machine.state }

    func waiting(for id: BusName) -> Int? { sessions[id]?.requests.waiting.count }

    /// Whether no command is being started, and no handler has had anything to do.
    var startsNothing: Bool { applications.startingCommands.isEmpty && sessions.isEmpty }

    /// Whether no request of any caller is without an answer.
    var hasAnsweredAll: Bool { senders.unanswered.isEmpty }

    /// Returns when a condition holds that no event tells of.
    func wait(until condition: @Sendable (isolated URLRouter) -> Bool) async {
        while !condition(self) { await loop.run {} }
    }

    /// Opens without options.
    func open(_ url: String, from caller: BusName = ":1.99") async throws(OpenURLError) -> OpenResult {
        try await open(url, OpenOptions(), caller: caller)
    }
}

extension Handler {
    /// A handler that claims the scheme that is the last element of its identifier.
    static func test(
        _ id: String,
        program: Program? = .path("/nonexistent/handler"),
        scheme: String? = nil,
        scope: RegistryDirectories.Scope = .user,
        precedence: Int = 0,
        _ change: (inout HandlerManifest) throws -> Void = { _ in }
    ) throws -> Handler {
        var manifest = HandlerManifest(identifier: try BundleIdentifier(id), executable: nil)
        let scheme = try Scheme(scheme ?? id.split(separator: ".").last.map(String.init) ?? "")
        manifest.urlTypes = [URLType(schemes: [scheme])]
        try change(&manifest)
        return Handler(
            manifest: manifest,
            path: "/handlers/\(id).plist",
            entry: "/handlers/\(id).plist",
            program: program,
            scope: scope,
            precedence: precedence,
            registrationDate: RegistrationDate(nanoseconds: 0)
        )
    }
}

/// The error that a request ends with; nil, and a recorded issue, where it has none.
func failure(_ body: () async throws(OpenURLError) -> OpenResult) async -> OpenURLError? {
    do throws(OpenURLError) {
        let result = try await body()
        Issue.record("opened by \(result.handler)")
        return nil
    } catch {
        return error
    }
}
