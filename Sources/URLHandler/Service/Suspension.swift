internal import CLinux
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor
internal import Synchronization

/// The handler's bus name while the process may be stopped.
///
/// The handler releases the name before it is stopped, so that no message to the name reaches a stopped process. When
/// it continues, it requests the name again. A message to its unique name also makes the process continue.
final class Suspension: Sendable {
    private let identifier: BusName
    private let connection: Connection
    private let queue: EventQueue
    private let blackboard: WatchdogBlackboard
    private let isNameGiven = Atomic(false)
    /// While the process may be stopped, the kernel continues it when this pipe ends.
    private let lifeline = Lock<UnixFD?>(nil)

    init(of identifier: BusName, _ connection: Connection, _ queue: EventQueue, _ blackboard: WatchdogBlackboard) {
        self.identifier = identifier
        self.connection = connection
        self.queue = queue
        self.blackboard = blackboard
    }

    private var isIdle: Bool { blackboard.state == .background && blackboard.openTasks == 0 && queue.isIdle }

    /// Releases the name if the handler is idle.
    ///
    /// This runs on the event loop, so a busy main actor is noticed at once, without waiting for it.
    ///
    /// The bus answers the release after it has sent everything addressed to the name. Events enter the queue in the
    /// order of arrival. Once the answer is here, the queue therefore contains every event that was on its way, and the
    /// handler's answers have already been sent.
    ///
    /// - Parameter lifeline: the read end of the router's pipe.
    /// - Returns: whether the process may be stopped. If not, the handler has its name again.
    func begin(_ lifeline: UnixFD) async throws(CallError) -> Bool {
        guard isIdle else { return false }
        // Without the pipe, the process would stay stopped if the router died.
        self.lifeline.withLock { $0 = lifeline }
        isNameGiven.store(true, ordering: .relaxed)
        try await connection.releaseName(identifier)
        // Some buses report the loss of the name only after they have answered. That report must not wake the process,
        // so wait for another answer. The proxy of a Flatpak lets this call through.
        _ = try await connection.owner(of: identifier)
        let continues = await connection.startSignalling(SIGCONT)
        if continues, isIdle { return isNameGiven.load(ordering: .relaxed) }
        await takeName()
        return false
    }

    /// Requests the name again if it was released, because the process continues.
    func end() {
        guard isNameGiven.load(ordering: .relaxed) else { return }
        connection.loop.startTask { await self.takeName() }
    }

    private func takeName() async {
        guard isNameGiven.exchange(false, ordering: .relaxed) else { return }
        lifeline.withLock { $0 = nil }
        await connection.stopSignalling()
        do throws(CallError) {
            guard try await connection.requestName(identifier) == .owned else {
                Application.fail(identifier, "while it was suspended, another process took its name on the bus")
            }
        } catch {
            if error != .disconnected { Application.fail(identifier, "it cannot get its name back: \(error)") }
        }
    }
}
