import Synchronization

@testable import RouterDaemon

/// The daemon's parts, which record the steps and do nothing else.
final class RecordedAssembly: Assembly {
    /// The error of a step that fails.
    struct StepError: Error {}

    private struct State {
        var steps: [String] = []
        var signalHandler: (@Sendable (CInt) -> Void)?
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let failing: String?
    private let ownsName: Bool
    fileprivate let answers: Bool
    private let hanging: String?
    private let (released, releaseHanging) = AsyncStream.makeStream(of: Void.self)
    /// Actions that follow a step, by the name of the step.
    private let actions: [String: @Sendable (RecordedAssembly) -> Void]

    /// - Parameters:
    ///   - failing: the step that fails.
    ///   - ownsName: whether the bus gives the router its name.
    ///   - answers: whether the router answers the requests that have arrived.
    ///   - hanging: the step that does not end before ``release()``, even if its task is cancelled.
    init(
        failing: String? = nil,
        ownsName: Bool = true,
        answers: Bool = true,
        hanging: String? = nil,
        actions: [String: @Sendable (RecordedAssembly) -> Void] = [:]
    ) {
        self.failing = failing
        self.ownsName = ownsName
        self.answers = answers
        self.hanging = hanging
        self.actions = actions
    }

    /// The steps in the order in which they began.
    var steps: [String] { state.withLock { $0.steps } }

    /// Sends a signal to the daemon, which has to watch for signals by now.
    func signal(_ number: CInt) {
        guard let handler = state.withLock({ $0.signalHandler }) else { preconditionFailure("no signal is watched") }
        handler(number)
    }

    /// Ends the connection to the bus.
    func endBus() {
        let waiter = state.withLock { state in
            state.isClosed = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Ends the step that hangs.
    func release() { releaseHanging.finish() }

    /// Records a step, and returns when it ends.
    fileprivate func take(_ step: String) async {
        record(step)
        guard step == hanging else { return }
        // The cancellation of the calling task does not reach this one.
        await Task { [released] in
            for await _ in released {}
        }.value
    }

    fileprivate func record(_ step: String) {
        state.withLock { $0.steps.append(step) }
        actions[step]?(self)
    }

    fileprivate func perform(_ step: String) throws {
        record(step)
        if step == failing { throw StepError() }
    }

    fileprivate func watch(_ handler: @escaping @Sendable (CInt) -> Void) {
        state.withLock { $0.signalHandler = handler }
    }

    fileprivate func waitUntilClosed() async {
        await withCheckedContinuation { waiter in
            let isClosed = state.withLock { state in
                if !state.isClosed { state.waiter = waiter }
                return state.isClosed
            }
            if isClosed { waiter.resume() }
        }
    }

    func loadRegistry() async throws { try perform("loadRegistry") }

    func connect() async throws { try perform("connect") }

    func makeRouter(_ registry: Void, _ bus: Void) async throws -> RecordedRouter {
        try perform("makeRouter")
        return RecordedRouter(assembly: self, ownsName: ownsName)
    }
}

/// The router of a ``RecordedAssembly``.
struct RecordedRouter: AssembledRouter {
    fileprivate let assembly: RecordedAssembly
    fileprivate let ownsName: Bool

    var handlerCount: Int { 3 }

    func watchSignals(_ handler: @escaping @Sendable (CInt) -> Void) async throws {
        try assembly.perform("watchSignals")
        assembly.watch(handler)
    }

    func export() async { assembly.record("export") }

    func takeName() async throws -> Bool {
        try assembly.perform("takeName")
        return ownsName
    }

    func followRegistry() async { assembly.record("followRegistry") }

    func adoptRunning() async { assembly.record("adoptRunning") }

    func startDeliveries() async { assembly.record("startDeliveries") }

    func watchMemory() async { assembly.record("watchMemory") }

    func waitUntilClosed() async {
        assembly.record("waitUntilClosed")
        await assembly.waitUntilClosed()
    }

    func announceEnd() async throws { try assembly.perform("announceEnd") }

    func abandonDeliveries() async { await assembly.take("abandonDeliveries") }

    func stopDeliveries() async { await assembly.take("stopDeliveries") }

    func releaseName() async throws { try assembly.perform("releaseName") }

    func waitUntilAnswered() async {
        assembly.record("waitUntilAnswered")
        guard !assembly.answers else { return }
        // The stream ends when the task is cancelled.
        let (answers, end) = AsyncStream.makeStream(of: Void.self)
        for await _ in answers {}
        end.finish()
    }

    func close() async {
        await assembly.take("close")
        assembly.endBus()
    }
}
