internal import CLinux
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor
internal import Synchronization

/// The handler's bus name while the process may be stopped.
///
/// The handler releases the name before it is stopped, so that no message to the name reaches a stopped process. The handler
/// requests the name again when it continues. A message to the handler's unique name continues the process.
final class Suspension: Sendable {
    private let identifier: BusName
    private let connection: Connection
    private let queue: EventQueue
    private let progress: Progress
    private let isNameGiven = Atomic(false)
    /// The pipe whose end continues the process, while the process may be stopped.
    private let lifeline = Lock<UnixFD?>(nil)

    init(of identifier: BusName, _ connection: Connection, _ queue: EventQueue, _ progress: Progress) {
        self.identifier = identifier
        self.connection = connection
        self.queue = queue
        self.progress = progress
    }

    private var isIdle: Bool { progress.state == .background && progress.openTasks == 0 && queue.isIdle }

    /// Releases the name if the handler is idle.
    ///
    /// The function runs on the event loop. A busy main actor is therefore noticed at once, without waiting for it.
    ///
    /// The bus answers the release after it has sent everything addressed to the name. Events enter the queue in the
    /// order of arrival. When the answer is here, the queue therefore contains every event that was on its way, and the
    /// answers of the handler have already been sent.
    ///
    /// - Parameter lifeline: the reading end of the router's pipe.
    /// - Returns: whether the process may be stopped. If not, the handler has its name again.
    func begin(_ lifeline: UnixFD) async throws(CallError) -> Bool {
        guard isIdle else { return false }
        // Without the pipe, the process would stay stopped if the router died.
        self.lifeline.withLock { $0 = lifeline }
        isNameGiven.store(true, ordering: .relaxed)
        try await connection.releaseName(identifier)
        // Some buses report the loss of the name only after they have answered. It must not continue the process, so another answer is
        // awaited. The proxy of a Flatpak lets this question through.
        _ = try await connection.owner(of: identifier)
        let continues = await connection.startSignalling(SIGCONT)
        if continues, isIdle { return isNameGiven.load(ordering: .relaxed) }
        await takeName()
        return false
    }

    /// Requests the name again if it was released, because the process continues.
    func end() {
        guard isNameGiven.load(ordering: .relaxed) else { return }
        Task(executorPreference: connection.loop) { await self.takeName() }
    }

    private func takeName() async {
        guard isNameGiven.exchange(false, ordering: .relaxed) else { return }
        lifeline.withLock { $0 = nil }
        await connection.stopSignalling()
        do throws(CallError) {
            guard try await connection.requestName(identifier) == .owned else {
                Application.fail(identifier, "another process has taken that name meanwhile")
            }
        } catch {
            if error != .disconnected { Application.fail(identifier, "its name cannot be taken again: \(error)") }
        }
    }
}
