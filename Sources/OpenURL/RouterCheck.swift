internal import DBus
internal import OpenURLBus
internal import Reactor
internal import RouterProgram

/// A check that the installed router owns the router's name, performed once for each owner.
final class RouterCheck: Sendable {
    private struct State {
        /// The task that finds the owner of the name, and then follows changes of owner; nil before the first question
        /// and after a failure.
        var following: Task<Result<NameWatchID, CallError>, Never>?
        var owner: BusName?
        /// The latest owner that was checked, and the warning about it.
        var judged: (owner: BusName, warning: String?)?
    }

    private let connection: Connection
    /// Whether the processes on the bus are on this machine.
    private let isLocal: Bool
    private let state = Lock(State())

    init(on connection: Connection, isLocal: Bool = true) {
        self.connection = connection
        self.isLocal = isLocal
    }

    deinit {
        guard let following = state.withLock(\.following) else { return }
        connection.loop.startTask { [connection] in
            guard case .success(let watch) = await following.value else { return }
            do throws(CallError) {
                try await connection.unwatchName(watch)
            } catch {
                // A connection that has ended has no watches.
            }
        }
    }

    /// The owner of the name; nil if it has none, or before the first call of ``warning()``.
    var owner: BusName? { state.withLock(\.owner) }

    /// Returns a warning if another program owns the name, or if the bus does not answer the question; nil if no other
    /// program does, if the processes cannot be seen from here, or if nothing can be sent anyway.
    func warning() async -> String? {
        guard isLocal, let identity = RouterIdentity.ofEnvironment else { return nil }
        do throws(CallError) {
            _ = try await following().value.get()
            while true {
                let (owner, judged) = state.withLock { ($0.owner, $0.judged) }
                guard let owner else { return nil }
                if let judged, judged.owner == owner { return judged.warning }
                do throws(CallError) {
                    let warning = try await connection.credentials(of: owner).pid.flatMap(identity.refusal(of:))
                    state.withLock { $0.judged = (owner, warning) }
                    return warning
                } catch .remote(let error) where error.name == .nameHasNoOwner {
                    // This owner has just gone, and never comes back, so each round needs another one to go.
                    let next = try await connection.owner(of: RouterService.name)
                    state.withLock { if $0.owner == owner { $0.owner = next } }
                }
            }
        } catch .disconnected, .cancelled {
            // The caller's next call fails for the same reason.
            return nil
        } catch {
            return "the owner of \(RouterService.name) cannot be checked: \(error)"
        }
    }

    private func following() -> Task<Result<NameWatchID, CallError>, Never> {
        state.withLock { state in
            if let following = state.following { return following }
            let following = connection.loop.startTask {
                [connection, weak self] () async -> Result<NameWatchID, CallError> in
                do throws(CallError) {
                    let watch = try await connection.watchName(RouterService.name) { [weak self] _, new in
                        self?.state.withLock { $0.owner = new }
                    }
                    do throws(CallError) {
                        let owner = try await connection.owner(of: RouterService.name)
                        self?.state.withLock { $0.owner = owner }
                        return .success(watch)
                    } catch {
                        try await connection.unwatchName(watch)
                        throw error
                    }
                } catch {
                    // The next question begins anew.
                    self?.state.withLock { $0.following = nil }
                    return .failure(error)
                }
            }
            state.following = following
            return following
        }
    }
}
