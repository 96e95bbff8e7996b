package import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor
internal import RouterProgram

/// A connection to the router.
package struct WayToRouter: Sendable {
    package let connection: Connection
    /// This program's unique name on the connection; nil without a bus.
    let name: BusName?
    /// Checks that the installed router owns the name; nil on the lane, where this was checked before.
    let check: RouterCheck?

    /// Whether the connection is the lane's.
    var isLane: Bool { check == nil }

    /// Uses a connection to a bus.
    package init(bus: Connection, isLocal: Bool = true) {
        connection = bus
        name = bus.uniqueName
        check = RouterCheck(on: bus, isLocal: isLocal)
    }

    /// Connects to the lane, if this installation's router is listening there.
    init?(laneOn loop: EventLoop) async {
        guard let lane = await RouterLane.open(on: loop) else { return nil }
        if let identity = RouterIdentity.ofEnvironment {
            guard let process = lane.process, identity.refusal(of: process) == nil else {
                await lane.connection.close()
                return nil
            }
        }
        connection = lane.connection
        name = lane.name
        check = nil
    }
}

/// A client's connections to the router: over the lane while the router is listening there, otherwise over the bus,
/// which starts a router.
///
/// To keep its URLs in order, a client switches between them only while none of its calls is waiting for an answer.
final class WaysToRouter: Sendable {
    private struct State {
        var lane: WayToRouter?
        var bus: WayToRouter?
        var calls = 0
        /// The owner of the router's name at the time of the latest answer over the bus. A router listens on the lane
        /// before its first answer.
        var answered: BusName?
        /// The owner of the router's name when the client last looked for the lane.
        var lookedFor: BusName?
        /// The servers that are waiting for a callback.
        var waits: [LoopbackWait] = []
        var isClosed = false
    }

    /// The loop on which all connections run.
    let loop: EventLoop
    private let mayUseLane: Bool
    private let state: Lock<State>

    /// Uses only this connection.
    init(only way: WayToRouter) {
        loop = way.connection.loop
        mayUseLane = false
        state = Lock(State(bus: way))
    }

    /// Connects to the lane, or to the session bus.
    init(on loop: EventLoop) async throws(OpenURLClientError) {
        self.loop = loop
        mayUseLane = true
        state = Lock(State())
        if await !openLane() { _ = try await openBus() }
    }

    /// Makes a call over the current connection. It is repeated over the bus if the lane's router exited before it saw
    /// the call, or if the call is too large for the lane.
    func call<Result>(_ body: (WayToRouter) async throws -> Result) async throws -> Result {
        let way = try await begin()
        defer { state.withLock { $0.calls -= 1 } }
        do {
            let result = try await body(way)
            if let owner = way.check?.owner { state.withLock { $0.answered = owner } }
            return result
        } catch CallError.remote(let error) where way.isLane && error.name == .unknownObject {
            state.withLock { $0.lane = nil }
            return try await body(try await openBus())
        } catch CallError.notSent where way.isLane {
            return try await body(try await openBus())
        } catch CallError.disconnected where way.isLane {
            state.withLock { if $0.lane?.connection === way.connection { $0.lane = nil } }
            throw CallError.remote(RemoteError(.noReply, "the router exited"))
        }
    }

    /// Records the beginning of a call, and returns the connection for it.
    private func begin() async throws -> WayToRouter {
        let (isClosed, lane, mayLook) = state.withLock { state in
            if !state.isClosed { state.calls += 1 }
            return (state.isClosed, state.lane, state.calls == 1 && mayUseLane)
        }
        // The loop has stopped, so a call would never end.
        if isClosed { throw OpenURLClientError.closed }
        if let lane { return lane }
        do throws(OpenURLClientError) {
            let bus = try await openBus()
            let (answered, lookedFor) = state.withLock { ($0.answered, $0.lookedFor) }
            if mayLook, let owner = bus.check?.owner, owner == answered, owner != lookedFor {
                state.withLock { $0.lookedFor = owner }
                if await openLane(), let lane = state.withLock(\.lane) { return lane }
            }
            return bus
        } catch {
            state.withLock { $0.calls -= 1 }
            throw error
        }
    }

    /// - Returns: whether there is a lane.
    private func openLane() async -> Bool {
        guard let lane = await WayToRouter(laneOn: loop) else { return false }
        let isUsed = state.withLock { state in
            guard !state.isClosed, state.lane == nil else { return false }
            state.lane = lane
            return true
        }
        guard isUsed else {
            await lane.connection.close()
            return true
        }
        loop.startTask {
            await lane.connection.waitUntilClosed()
            self.state.withLock { if $0.lane?.connection === lane.connection { $0.lane = nil } }
        }
        return true
    }

    private func openBus() async throws(OpenURLClientError) -> WayToRouter {
        let (isClosed, bus) = state.withLock { ($0.isClosed, $0.bus) }
        if isClosed { throw .closed }
        if let bus { return bus }
        let opened: WayToRouter
        do throws(ConnectionError) {
            opened = WayToRouter(bus: try await Connection.open(on: loop))
        } catch {
            if state.withLock(\.isClosed) { throw .closed }
            throw OpenURLClientError(failure: error)
        }
        let used: WayToRouter? = state.withLock { state in
            if state.isClosed { return nil }
            if state.bus == nil { state.bus = opened }
            return state.bus
        }
        // Another task was faster, or the client was closed.
        if used?.connection !== opened.connection { await opened.connection.close() }
        guard let used else { throw .closed }
        return used
    }

    /// Keeps a server until ``remove(_:)``, so that ``close()`` ends its wait. After that, no URL can be opened for it.
    func add(_ wait: LoopbackWait) {
        state.withLock { $0.waits.append(wait) }
    }

    /// Forgets a server whose wait has ended.
    func remove(_ wait: LoopbackWait) {
        state.withLock { state in state.waits.removeAll { $0 === wait } }
    }

    /// Ends all waits and all connections.
    func close() async {
        let (ways, waits) = state.withLock { state in
            state.isClosed = true
            return ([state.lane, state.bus], state.waits)
        }
        for wait in waits { await wait.stop() }
        for case let way? in ways { await way.connection.close() }
        loop.stop()
    }
}

extension OpenURLClientError {
    /// The error of a request after ``OpenURLClient/close()``.
    fileprivate static let closed = OpenURLClientError.unavailable("the client is closed")
}

extension RouterIdentity {
    /// The router that this process should find; nil in a sandbox.
    static var ofEnvironment: RouterIdentity? {
        RouterIdentity { name in
            unsafe getenv(name).flatMap { unsafe $0.pointee == 0 ? nil : String(cString: $0) }
        }
    }
}
