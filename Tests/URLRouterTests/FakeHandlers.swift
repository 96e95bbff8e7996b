import Glibc
import Logging
import OpenURLBus
import Processes
import Reactor
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// A bus that the test plays. The fake reports the owners of names and answers for the handlers when the test asks for
/// an answer.
final class FakeHandlers: RouterBus, RouterSignals {
    /// A request of the router.
    enum Event: Hashable {
        case askedForOwner(BusName)
        case askedWhoIs(BusName)
        case opened(String, at: BusName)
        case activated(BusName, at: BusName)
        case started(BusName)
        case askedForActivatableNames
        case reloadedConfiguration
        case interrupted(BusName)
        case resumed(BusName)
        case sentToBackground(BusName)
        case askedToSuspend(BusName)
        case askedToEnd(BusName)
        case askedForProgress(BusName)
        case cancelled(String, at: BusName)
        case reported(ProgressReport, to: BusName)
        case reportedStart(ObjectPath, to: BusName)
        case completed(CallbackEnd, String, error: ErrorName?, to: BusName)
        case refused(error: ErrorName?, to: BusName)
        case checked(BusName)
        case warnedOfMemory(BusName)
        case expired(BusName)
        case notified(BusName, [String: Value])
        case woken(BusName, WakeContext)
        case announced(BusName, HandlerState)
        case launchBegan(BusName, String, image: String)
        case launchEnded(BusName)
        case told([String?], to: BusName)
        case announcedQueued(String, QueuedURL.State)
    }

    private typealias Answer = CheckedContinuation<Result<OpenAnswer, CallError>, Never>

    private struct Content {
        var hasEnded = false
        var newestConnection: ConnectionNumber?
        var owners: [BusName: BusName] = [:]
        var processes: [BusName: UInt32] = [:]
        /// The result of starting each service: the connection that then owns the name, or nil if the name has no
        /// owner.
        var services: [BusName: Result<BusName?, CallError>] = [:]
        /// The time limits with which the router waits for services to start.
        var patience: [BusName: Duration] = [:]
        /// The errors of names whose owner, or whose process, the bus does not report.
        var failingLookups: [BusName: CallError] = [:]
        var platformData: [String: [String: Value]] = [:]
        /// The error of every request to read the service files again.
        var reloadError: CallError?
        /// The states that handlers report if the router did not start them.
        var states: [BusName: HandlerState] = [:]
        /// The connections that are reached over the lane.
        var attached: Set<BusName> = []
        /// The handlers' ends of the pipes that came with the requests to prepare for a stop.
        var lifelines: [UnixFD] = []
        /// The error of every request to go to the background.
        var backgroundError: CallError?
        /// The error of every request to prepare for a stop.
        var suspendError: CallError?
        /// The error of every request to wake a handler for something other than a URL.
        var wakeError: CallError?
        /// The answer to every other request to wake a handler.
        var wakeAnswer = WakeAnswer()
        /// The error of every report that an interruption begins or ends.
        var activityError: CallError?
        /// The error of every request to cancel.
        var cancelError: CallError?
        /// The running method of each handler and its time. A handler without an entry does not answer.
        var progress: [BusName: (String, UInt64)] = [:]
        var watches: [BusName: NameOwnerHandler] = [:]
        var answers: [String: Answer] = [:]
        var contexts: [String: OpenContext] = [:]
        /// The names whose questions wait for ``release(_:)``.
        var held: Set<BusName> = []
        var waiting: [BusName: [CheckedContinuation<Void, Never>]] = [:]
        /// The connections that do not read signals.
        var deaf: Set<BusName> = []
        var unread: [Event] = []
        var reader: (wanted: Event, continuation: CheckedContinuation<Void, Never>)?
    }

    /// A name for the questions for the state, for ``hold(_:)``.
    static let state: BusName = "question.for.state"
    /// A name for the calls that wake handlers for something other than a URL, for ``hold(_:)``.
    static let wake: BusName = "call.to.wake"

    let loop: EventLoop
    private let content = Lock(Content())

    /// - Parameter owners: The connection that owns each handler's name.
    init(_ owners: [BusName: BusName], processes: [BusName: UInt32] = [:]) throws {
        loop = try EventLoop()
        content.withLock {
            $0.owners = owners
            $0.processes = processes
            $0.processes[ownConnection] = UInt32(getpid())
        }
    }

    deinit {
        loop.stop()
    }

    // MARK: The test's side

    /// Reaches a connection over the lane from now on.
    func attach(_ owner: BusName) {
        content.withLock { _ = $0.attached.insert(owner) }
    }

    /// Makes questions about a name wait for ``release(_:)``.
    func hold(_ name: BusName) {
        content.withLock { _ = $0.held.insert(name) }
    }

    /// Answers the waiting questions about a name, and answers later questions at once.
    func release(_ name: BusName) {
        let waiting = content.withLock { content in
            content.held.remove(name)
            return content.waiting.removeValue(forKey: name) ?? []
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Gives a name to a connection, or to no connection, and tells the router.
    func setOwner(of id: BusName, to owner: BusName?) {
        let (watch, old) = content.withLock { content in
            let old = content.owners[id]
            content.owners[id] = owner
            return (content.watches[id], old)
        }
        loop.execute { watch?(old, owner) }
    }

    /// Sets the newest connection of the bus.
    func setNewestConnection(_ name: BusName) {
        content.withLock { $0.newestConnection = ConnectionNumber(name) }
    }

    /// Makes a connection stop to read signals.
    func stopReading(_ name: BusName) {
        content.withLock { _ = $0.deaf.insert(name) }
    }

    /// Makes the bus end, as far as the router asks whether it has.
    func end() {
        content.withLock { $0.hasEnded = true }
    }

    /// Answers for the handler.
    func answer(_ url: String, _ result: Result<OpenAnswer, CallError> = .success(.yes)) {
        content.withLock { $0.answers.removeValue(forKey: url) }?.resume(returning: result)
    }

    /// Returns the context that the handler received with the URL.
    func context(of url: String) -> OpenContext? {
        content.withLock { $0.contexts[url] }
    }

    /// Returns the platform data that the application received with the URL, or the handler when it was activated.
    func platformData(of url: String) -> [String: Value]? {
        content.withLock { $0.platformData[url] }
    }

    /// Sets the result of starting a service.
    func setService(_ name: BusName, _ outcome: Result<BusName?, CallError>) {
        content.withLock { $0.services[name] = outcome }
    }

    /// Returns the router's time limit for the start of a service, or nil if the router has not started the service.
    func patience(for name: BusName) -> Duration? {
        content.withLock { $0.patience[name] }
    }

    /// Makes lookups of a name's owner fail with an error.
    func setLookup(_ name: BusName, failsWith error: CallError) {
        content.withLock { $0.failingLookups[name] = error }
    }

    /// Sets the method that a handler runs, and the method's time so far.
    func setProgress(of id: BusName, to phase: String, _ time: Duration) {
        content.withLock { $0.progress[id] = (phase, UInt64(time / .microseconds(1))) }
    }

    /// Makes every request to go to the background fail.
    func failBackground(with error: CallError) {
        content.withLock { $0.backgroundError = error }
    }

    /// Makes every request to prepare for a stop fail.
    func failSuspensions(with error: CallError) {
        content.withLock { $0.suspendError = error }
    }

    /// Makes every report that an interruption begins or ends fail.
    func failInterruptions(with error: CallError) {
        content.withLock { $0.activityError = error }
    }

    /// Makes every request to cancel fail.
    func failCancels(with error: CallError) {
        content.withLock { $0.cancelError = error }
    }

    /// Makes every request to wake a handler for something other than a URL fail.
    func failWaking(with error: CallError?) {
        content.withLock { $0.wakeError = error }
    }

    /// Sets the result of every task.
    func answerTasks(with result: Reported<TaskResult>) {
        content.withLock { $0.wakeAnswer.result = result }
    }

    /// Makes every request to read the service files again fail.
    func failReloads(with error: CallError) {
        content.withLock { $0.reloadError = error }
    }

    /// Sets the state that a handler tells.
    func setState(of id: BusName, to state: HandlerState) {
        content.withLock { $0.states[id] = state }
    }

    /// Sets the process of a connection.
    func setProcess(of name: BusName, to pid: UInt32) {
        content.withLock { $0.processes[name] = pid }
    }

    /// Waits for an event and takes it from the list of events. A second wait for the same event needs a second event.
    /// Only one wait at a time is possible.
    ///
    /// The end of the test's time ends the wait too, so that the test fails and the other tests go on.
    func wait(for event: Event) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isThere = content.withLock { content in
                    if let index = content.unread.firstIndex(of: event) {
                        content.unread.remove(at: index)
                        return true
                    }
                    guard !Task.isCancelled else { return true }
                    if let reader = content.reader {
                        Issue.record("\(event) is awaited while another wait is for \(reader.wanted)")
                        return true
                    }
                    content.reader = (event, continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        } onCancel: {
            let reader = content.withLock { content in
                defer { content.reader = nil }
                return content.reader
            }
            guard let reader else { return }
            Issue.record("\(reader.wanted) did not happen; there was \(content.withLock { $0.unread })")
            reader.continuation.resume()
        }
    }

    /// The URLs that the router handed over and that the test has not waited for, in order.
    var opened: [String] {
        content.withLock { content in
            content.unread.compactMap { event in
                if case .opened(let url, _) = event { url } else { nil }
            }
        }
    }

    /// Returns the number of events that the test has not waited for.
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

    var newestConnection: ConnectionNumber? { content.withLock { $0.newestConnection } }

    var isOpen: Bool { content.withLock { !$0.hasEnded } }

    func watchOwner(of id: BusName, _ handler: @escaping NameOwnerHandler) async throws(CallError) -> NameWatchID {
        content.withLock { $0.watches[id] = handler }
        return NameWatchID(name: id, number: 0)
    }

    func count(_ name: BusName, to account: String, isPaced: Bool) -> Bool { true }

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
        if let error = content.withLock({ $0.failingLookups[name] }) { throw error }
        return Credentials(pid: content.withLock { $0.processes[name] }, uid: getuid(), processDescriptor: nil)
    }

    func attach(_ id: BusName, at owner: BusName, _ process: ProcessIdentity) {}

    func isAttached(_ owner: BusName) -> Bool { content.withLock { $0.attached.contains(owner) } }

    func detach(_ owner: BusName) {}

    func busName(of caller: BusName) -> BusName { caller }

    func open(
        _ delivered: DeliveredURL,
        with handler: RemoteObject,
        timeout: Duration
    ) async throws(CallError) -> OpenAnswer {
        guard let owner = handler.destination else { throw .disconnected }
        let url = delivered.url
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (answer: Answer) in
                content.withLock {
                    $0.answers[url] = answer
                    $0.contexts[url] = delivered.context
                }
                record(.opened(url, at: owner))
            }
        } onCancel: {
            self.answer(url, .failure(.cancelled))
        }
        return try result.get()
    }

    func progress(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> (String, UInt64) {
        record(.askedForProgress(id))
        guard let progress = content.withLock({ $0.progress[id] }) else { throw .timedOut }
        return progress
    }

    func cancel(_ request: String, _ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        record(.cancelled(request, at: owner))
        if let error = content.withLock({ $0.cancelError }) { throw error }
    }

    func check(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        record(.checked(id))
        if content.withLock({ $0.held.contains(id) }) { throw .timedOut }
    }

    func terminate(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        record(.askedToEnd(id))
    }

    func state(of id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) -> String {
        await waitUntilReleased(Self.state)
        return content.withLock { $0.states[id] ?? .active }.rawValue
    }

    func resignActive(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        record(.interrupted(id))
        await waitUntilReleased(id)
        if let error = content.withLock({ $0.activityError }) { throw error }
    }

    func becomeActive(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        record(.resumed(id))
        await waitUntilReleased(id)
        if let error = content.withLock({ $0.activityError }) { throw error }
    }

    func enterBackground(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        record(.sentToBackground(id))
        await waitUntilReleased(id)
        if let error = content.withLock({ $0.backgroundError }) { throw error }
    }

    func suspend(
        _ id: BusName,
        at owner: BusName,
        lifeline: UnixFD,
        timeout: Duration
    ) async throws(CallError) -> Bool {
        record(.askedToSuspend(id))
        await waitUntilReleased(id)
        if let error = content.withLock({ $0.suspendError }) { throw error }
        // A handler keeps the descriptor that it gets.
        let kept = UnixFD(owning: fcntl(lifeline.rawValue, F_DUPFD_CLOEXEC, 3))
        content.withLock { $0.lifelines.append(kept) }
        return true
    }

    func receiveMemoryWarning(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        record(.warnedOfMemory(id))
        await waitUntilReleased(id)
    }

    func wake(
        _ context: WakeContext,
        _ id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) -> WakeAnswer {
        record(.woken(id, context))
        await waitUntilReleased(Self.wake)
        if let error = content.withLock({ $0.wakeError }) { throw error }
        return content.withLock { $0.wakeAnswer }
    }

    func expireBackgroundTasks(_ id: BusName, at owner: BusName, timeout: Duration) async throws(CallError) {
        record(.expired(id))
    }

    func notify(
        _ notifications: [String: Value],
        _ id: BusName,
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) {
        record(.notified(id, notifications))
        await waitUntilReleased(id)
    }

    func announce(_ state: QueuedURL.State, ofQueued id: Int64) {
        record(.announcedQueued("\(id)", state))
    }

    func report(_ report: ProgressReport, from handle: ObjectPath, to owner: BusName) {
        record(.reported(report, to: owner))
    }

    func reportStart(from handle: ObjectPath, to owner: BusName) {
        record(.reportedStart(handle, to: owner))
    }

    func complete(
        _ code: CallbackEnd,
        _ url: String,
        _ details: CallbackDetails,
        from handle: ObjectPath,
        to owner: BusName
    ) {
        record(.completed(code, url, error: details.error?.name, to: owner))
    }

    func refuse(_ details: CallbackDetails, from handle: ObjectPath, to owner: BusName) {
        record(.refused(error: details.error?.name, to: owner))
    }

    func setSubscribers(_ names: [BusName]) {}

    func tell(_ entries: [MonitorEntry], to receiver: BusName) -> Bool {
        record(.told(entries.map(\.url), to: receiver))
        return content.withLock { !$0.deaf.contains(receiver) }
    }

    var hasSubscribers: Bool { true }

    func announceLaunch(of id: BusName, _ scheme: String, image: String) {
        record(.launchBegan(id, scheme, image: image))
    }

    func announceEndOfLaunch(of id: BusName) {
        record(.launchEnded(id))
    }

    func announce(changed schemes: [String]) {}

    func announce(_ state: HandlerState, of id: BusName) {
        record(.announced(id, state))
    }

    func activate(
        _ name: BusName,
        _ platformData: [String: Value],
        at owner: BusName,
        timeout: Duration
    ) async throws(CallError) {
        content.withLock { $0.platformData["\(name)"] = platformData }
        record(.activated(name, at: owner))
    }

    func activatableNames() async throws(CallError) -> [BusName] {
        record(.askedForActivatableNames)
        return content.withLock { Array($0.services.keys) }
    }

    func reloadConfiguration(timeout: Duration) async throws(CallError) {
        record(.reloadedConfiguration)
        if let error = content.withLock({ $0.reloadError }) { throw error }
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
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (answer: Answer) in
                content.withLock {
                    $0.answers[url] = answer
                    $0.platformData[url] = platformData
                }
                record(.opened(url, at: owner))
            }
        } onCancel: {
            self.answer(url, .failure(.cancelled))
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
