internal import DBus
internal import OpenURLBus
internal import Reactor

/// The comparison of the program that owns the router's name with the installed router, once for each owner.
final class RouterCheck: Sendable {
    private struct State {
        /// Learns the owner of the name, and its changes from then on; nil before the first question.
        var following: Task<NameWatchID?, Never>?
        var owner: BusName?
        /// The owner that was looked at last, and the sentence about it.
        var judged: (owner: BusName, warning: String?)?
    }

    private let connection: Connection
    /// Whether the processes of the bus are those of this machine.
    private let isLocal: Bool
    private let state = Lock(State())

    init(on connection: Connection, isLocal: Bool = true) {
        self.connection = connection
        self.isLocal = isLocal
    }

    deinit {
        guard let following = state.withLock(\.following) else { return }
        Task(executorPreference: connection.loop) { [connection] in
            guard let watch = await following.value else { return }
            do throws(CallError) {
                try await connection.unwatchName(watch)
            } catch {
                // A connection that has ended has no watches.
            }
        }
    }

    /// The owner of the name, as far as ``warning()`` has learnt it.
    var owner: BusName? { state.withLock(\.owner) }

    /// Returns the sentence about another program that owns the name; nil if there is none, or if it cannot be known.
    func warning() async -> String? {
        guard isLocal, let identity = RouterIdentity.ofEnvironment else { return nil }
        _ = await following().value
        let (owner, judged) = state.withLock { ($0.owner, $0.judged) }
        guard let owner else { return nil }
        if let judged, judged.owner == owner { return judged.warning }
        do throws(CallError) {
            let warning = try await connection.credentials(of: owner).pid.flatMap(identity.refusal(of:))
            state.withLock { $0.judged = (owner, warning) }
            return warning
        } catch {
            return nil
        }
    }

    private func following() -> Task<NameWatchID?, Never> {
        state.withLock { state in
            if let following = state.following { return following }
            let following = Task(executorPreference: connection.loop) { [connection, weak self] in
                do throws(CallError) {
                    let watch = try await connection.watchName(RouterService.name) { [weak self] _, new in
                        self?.state.withLock { $0.owner = new }
                    }
                    let owner = try await connection.owner(of: RouterService.name)
                    self?.state.withLock { $0.owner = owner }
                    return NameWatchID?.some(watch)
                } catch {
                    // The call that follows fails too.
                    return nil
                }
            }
            state.following = following
            return following
        }
    }
}
