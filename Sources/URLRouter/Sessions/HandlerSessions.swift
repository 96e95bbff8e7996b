internal import CLinux
internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import SchemeRegistry

/// The sessions of all handlers that the router deals with.
///
/// This table belongs to the router's actor. A handler gets a session with its first request, or when the router finds
/// a process that another program has started. Looking at a handler's state does not create a session.
final class HandlerSessions {
    let shared: SharedParts
    private var sessions: [BusName: HandlerSession] = [:]
    /// The router's own process session.
    private let routerSession = getsid(0)

    init(_ shared: SharedParts) {
        self.shared = shared
        shared.connect(self)
    }

    var isEmpty: Bool { sessions.isEmpty }

    subscript(id: BusName) -> HandlerSession? { sessions[id] }

    subscript(id: BundleIdentifier) -> HandlerSession? { sessions[id.busName] }

    /// Returns a handler's state as callers see it.
    func state(of id: BundleIdentifier) -> HandlerState { self[id]?.state ?? .notRunning }

    /// Returns how long a handler is still in quarantine; nil if it is not. It is a millisecond longer, so that
    /// an attempt is not too early if the time is cut to milliseconds.
    func quarantine(of id: String) -> Duration? {
        BusName(id).flatMap { self[$0]?.quarantine.timeLeft }.map { $0 + .milliseconds(1) }
    }

    /// Returns the session for a request to the given handler, and creates it if necessary. The session uses that
    /// handler's manifest from now on.
    func obtain(for handler: Handler) -> HandlerSession {
        let id = handler.id.busName
        if let session = sessions[id] {
            session.use(handler)
            return session
        }
        let session = HandlerSession(handler, id, shared)
        sessions[id] = session
        return session
    }

    /// Makes the sessions use the manifests of another registry, and removes the unused sessions of handlers that are
    /// no longer registered.
    func use(_ registry: Registry) {
        for session in sessions.values {
            if let handler = registry[session.handler.id], handler.program != nil { session.use(handler) }
        }
        removeUnused(keeping: { registry[$0] != nil })
    }

    /// Removes the unused sessions of handlers that are no longer registered, and so forgets their crashes.
    private func removeUnused(keeping isRegistered: (BundleIdentifier) -> Bool) {
        let unregistered = sessions.values.filter { !isRegistered($0.handler.id) && $0.machine.state == .notRunning }
            .map(\.id)
        for id in unregistered {
            // A task, timer or process that uses the session holds another reference to it.
            guard isKnownUniquelyReferenced(&sessions[id]) else { continue }
            sessions.removeValue(forKey: id)?.processes.name.unwatch()
        }
    }

    /// Returns the sessions of running handlers that are no longer registered, in the order of their identifiers.
    func running(apartFrom registry: Registry) -> [HandlerSession] {
        sessions.values.filter { registry[$0.handler.id] == nil && $0.isRunning }
            .sorted { $0.id.rawValue < $1.id.rawValue }
    }

    /// Returns the session of a handler that may be running: either the existing one, or a new one if another program
    /// has started the process.
    ///
    /// - Returns: nil if the handler has no session and its name has no owner.
    func find(_ handler: Handler) async -> HandlerSession? {
        if self[handler.id] == nil {
            do throws(CallError) {
                guard try await shared.bus.owner(of: handler.id.busName) != nil else { return nil }
            } catch {
                shared.log.error("the bus did not answer: \(error)")
                return nil
            }
        }
        // In the meantime, a request may have created the session from a newer manifest.
        let session = self[handler.id] ?? obtain(for: handler)
        await session.processes.find()
        return session
    }

    /// Finds the handlers that run without a session because another program has started them.
    func findRunning(_ registry: Registry) async {
        do throws(CallError) {
            for name in try await shared.bus.names() {
                guard let handler = registry.handler(named: name.rawValue), handler.kind == .native else { continue }
                await obtain(for: handler).processes.find()
            }
        } catch {
            shared.log.error("the bus did not list its names: \(error)")
        }
    }

    /// Notes that a name on the bus now has an owner. The user may have started a handler that nothing has asked for
    /// yet.
    func nameAppeared(_ name: BusName, in registry: Registry) {
        // A session that watches its name notices this on its own.
        guard self[name]?.processes.name.isWatched != true, let handler = registry.handler(named: name.rawValue),
            handler.kind == .native, handler.program != nil
        else { return }
        let session = obtain(for: handler)
        shared.tasks.start { await session.processes.find() }
    }

    /// Asks all handlers that have not yet reported their state to do so. Returns when each of them has answered or run
    /// out of time.
    func askForStates() async {
        var left = 0
        var waiter: CheckedContinuation<Void, Never>?
        for session in sessions.values {
            guard case .running(let owner, .inactive) = session.machine.state, !session.process.isOwn else {
                continue
            }
            left += 1
            shared.tasks.start {
                await session.processes.askForState(owner)
                left -= 1
                if left == 0 { waiter?.resume() }
            }
        }
        await withCheckedContinuation { continuation in
            // Other jobs of the loop may run before this closure, so the answers may have come in the meantime.
            if left == 0 { continuation.resume() } else { waiter = continuation }
        }
    }

    // MARK: Which session

    /// Returns the session of the handler whose running process is the given process or an ancestor of it. Only a
    /// process that a router has started for the handler is considered the handler, and a descendant only as long as it
    /// stays in the same process session.
    func session(ofProcess process: ProcessIdentity, _ connection: BusName) -> HandlerSession? {
        // The kernel's answer, which is fetched only when needed.
        var leader: pid_t?
        let session = sessions.values.first { session in
            // A child of the router is the handler even before the bus says whether it owns the name, because it may
            // send something immediately.
            guard let running = session.process.running, session.process.claim?.isStrong == true,
                session.process.canHave(connection)
            else { return false }
            if UInt32(exactly: running.pid) == process.pid { return session.process.identity == process }
            let found = leader ?? pid_t(exactly: process.pid).map(getsid) ?? -1
            leader = found
            // Each process that the router starts has its own process session, so no handler is in the router's own
            // session.
            return found > 0 && found == session.process.session(of: running) && found != routerSession
        }
        // By now, the process ID may belong to another process.
        guard let session, ProcessIdentity(pid: process.pid) == process else { return nil }
        return session
    }

    /// Returns the session of the handler to which a connection belongs.
    func session(ofConnection connection: BusName) -> HandlerSession? {
        let name = shared.bus.busName(of: connection)
        return sessions.values.first { $0.machine.connection == name }
    }

    /// Passes on a handler's report about a request.
    ///
    /// - Throws: `notAllowed` if the caller is not the handler that has the request.
    func report(_ report: ProgressReport, on request: String, from caller: BusName?) throws(OpenURLError) {
        guard let caller, let session = session(ofConnection: caller),
            let found = session.requests.inHand(named: request)
        else {
            throw OpenURLError(.notAllowed, "the caller has no request with this name")
        }
        session.report(report, on: found)
    }

    // MARK: The end of the router

    /// Continues all processes that the router has stopped, and makes sure that it stops no others.
    func continueStopped() {
        shared.isEnding = true
        for session in sessions.values {
            session.background.holdSuspension()
            if case .suspended = session.machine.state { session.perform(.resume) }
        }
    }

    // MARK: Memory

    /// Warns the running handlers, and ends one suspended handler ("Observe Low-Memory Warnings").
    ///
    /// While memory stays short, the kernel reports it again (`PressureWatch`). Because each report ends only one
    /// handler, no more of them end than necessary.
    func relieveMemory() {
        for session in sessions.values.sorted(by: { $0.id.rawValue < $1.id.rawValue }) {
            guard let owner = session.owner else { continue }
            shared.tasks.start { await session.notifications.warnOfMemory(owner) }
        }
        let suspended = sessions.values.compactMap { session -> SuspendedMemory? in
            guard case .suspended = session.machine.state, let process = session.process.handle,
                let since = session.process.suspendedSince
            else { return nil }
            return SuspendedMemory(id: session.id, bytes: ProcessMemory.resident(pid: process.pid) ?? 0, since: since)
        }
        guard let next = SuspendedMemory.nextToEnd(of: suspended), let session = sessions[next.id] else { return }
        shared.log.notice(
            "ended to free memory: \(next.reason(among: suspended))",
            metadata: [
                "handler": "\(next.id)", "bytes": "\(next.bytes)",
                "suspended": "\(next.since.duration(to: .now).inWords)",
                "others": "\(suspended.count - 1)",
            ]
        )
        session.process.endReason = "the router ended it to free memory"
        session.handle(.purged)
    }
}

extension BundleIdentifier {
    /// The identifier as the handler's bus name, which follows the same rules.
    var busName: BusName { BusName(stringLiteral: rawValue) }
}

extension HandlerSession {
    /// Returns whether a confined process from the handler's process session is the handler itself: the process that
    /// the router has started, the owner of the handler's name, or a process whose sandbox has the handler's
    /// identifier.
    func isItself(_ caller: ProcessIdentity, _ connection: BusName, inSandboxOf application: String?) -> Bool {
        caller == process.identity || connection == machine.connection || application == id.rawValue
            // Every connection from the handler's sandbox belongs to the sandbox's proxy.
            || processes.owner.map { $0.connection == machine.connection && $0.pid == caller.pid } == true
    }
}
