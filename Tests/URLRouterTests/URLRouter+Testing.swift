import DBus
import Glibc
import Logging
import OpenURLBus
import Policy
import Reactor
import SchemeRegistry
import Testing

@testable import URLRouter

/// A connection of the test's process, a program of the user.
let ownConnection: BusName = ":1.77"

/// Takes the owner of a handler's name for the handler, although it need not be a process.
let ownProgramOrAnother: @Sendable (OwnerRecognition, UInt32?, Handler) async -> OwnerClaim? = {
    recognition,
    pid,
    handler in
    guard let pid, await recognition.runsProgram(of: handler, pid: pid) else { return .isInSandbox }
    return .runsProgram
}

extension RouterLimits {
    /// Limits for tests whose fake processes end when the test says so, and whose looks at programs take as long as they
    /// take, however late that is on a busy machine.
    static var patient: RouterLimits {
        var limits = RouterLimits()
        limits.nameTimeout = .seconds(60)
        limits.endTimeout = .seconds(60)
        limits.programLookTime = .seconds(60)
        return limits
    }
}

extension URLRouter {
    /// Creates a router with these handlers and applications on a bus that the test plays.
    init(
        _ handlers: [Handler],
        _ applications: DesktopApplications = DesktopApplications(),
        on bus: FakeHandlers,
        environment: [String: String] = [:],
        limits: RouterLimits = .patient,
        deliveries: DeliveryStore? = nil,
        pushes: PushStore? = nil,
        tasks: TaskStore? = nil,
        hosts: HostStore? = nil,
        policy: PolicyStore? = nil,
        requests: RequestLog? = nil,
        person: any PersonAsking = Nobody(),
        reminders: any ReminderShowing & Sendable = NoDesktop(),
        examine: (@Sendable (OwnerRecognition, UInt32?, Handler) async -> OwnerClaim?)? = ownProgramOrAnother,
        log: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) {
        var parts = RouterParts(
            registry: Registry(handlers: handlers, applications: applications),
            bus: bus,
            signals: bus,
            loop: bus.loop,
            environment: environment,
            limits: limits,
            log: log
        )
        parts.stores.deliveries = deliveries
        parts.stores.pushes = pushes
        parts.stores.tasks = tasks
        parts.stores.hosts = hosts
        parts.stores.policy = policy
        parts.stores.requests = requests
        parts.person = { _ in person }
        parts.reminders = { _, _ in reminders }
        parts.examine = examine
        self.init(parts)
    }

    func state(of id: BusName) -> HandlerStateMachine.State? { sessions[id]?.machine.state }

    /// The decision of the policy about a URL.
    func decision(on url: String, from source: OpenContext.Source) async throws(OpenURLError) -> PolicyDecision {
        let destination = try await destinations.foreseen(url, OpenOptions(), from: Caller(OpenContext.Source()))
        return permissions.verdict(on: destination, from: source).decision
    }

    func callerClass(_ connection: BusName) async -> CallerClass { await callers.caller(connection).callerClass }

    /// The running process of a handler.
    func pid(of id: BusName) -> CInt? { sessions[id]?.process.running?.pid }

    func waiting(for id: BusName) -> Int? { sessions[id]?.requests.waiting.count }

    /// Whether no command is starting and no handler has had a request.
    var startsNothing: Bool { applications.startingCommands.isEmpty && sessions.isEmpty }

    /// Whether no request of any caller is without an answer.
    var hasAnsweredAll: Bool { callers.unanswered.isEmpty }

    /// Returns when a condition holds that has no event.
    func wait(
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: @Sendable (isolated URLRouter) -> Bool
    ) async {
        let end = ContinuousClock.now + .seconds(240)
        while !condition(self) {
            guard !Task.isCancelled, .now < end else {
                Issue.record("the condition does not hold", sourceLocation: sourceLocation)
                return
            }
            await loop.run {}
        }
    }

    /// Opens a URL without options.
    func open(_ url: String, from caller: BusName = ownConnection) async throws(OpenURLError) -> OpenResult {
        try await open(url, OpenOptions(), caller: caller)
    }

    /// Opens a URL for a caller.
    func open(
        _ url: String,
        _ options: OpenOptions,
        caller: BusName?,
        bytes: Int? = nil
    ) async throws(OpenURLError) -> OpenResult {
        try await opener.open(opener.request(url, options, of: caller, bytes: bytes))
    }
}

extension Handler {
    /// Returns a handler that claims the scheme that is the last element of its identifier.
    static func test(
        _ id: String,
        program: Program? = .path("/nonexistent/handler"),
        scheme: String? = nil,
        scope: RegistryDirectories.Scope = .user,
        precedence: Int = 0,
        entry: String? = nil,
        _ change: (inout HandlerManifest) throws -> Void = { _ in }
    ) throws -> Handler {
        var manifest = HandlerManifest(identifier: try BundleIdentifier(id), executable: nil)
        let scheme = try Scheme(scheme ?? id.split(separator: ".").last.map(String.init) ?? "")
        manifest.urlTypes = [URLType(schemes: [scheme])]
        try change(&manifest)
        return Handler(
            manifest: manifest,
            path: "/handlers/\(id).plist",
            entry: entry ?? "/handlers/\(id).plist",
            program: program,
            scope: scope,
            precedence: precedence,
            registrationDate: RegistrationDate(nanoseconds: 0)
        )
    }
}

extension URLRouter {
    /// The number of programs that watch the requests.
    var watchers: Int { monitor.subscriberCount }

    /// Whether the facts about requests are noted.
    var notesRequests: Bool { monitor.observe(.open, "app:x") != nil }

    /// The number of calls that wait for replies.
    var waits: Int { deliveries?.outcomes.count ?? 0 }
}

/// Returns the error of a request. A request that succeeds records an issue and returns nil.
func failure(_ body: () async throws(OpenURLError) -> OpenResult) async -> OpenURLError? {
    do throws(OpenURLError) {
        let result = try await body()
        Issue.record("opened by \(result.handler)")
        return nil
    } catch {
        return error
    }
}
