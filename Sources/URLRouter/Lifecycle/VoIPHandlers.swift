internal import DBus
internal import Logging
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import SchemeRegistry
internal import UserFiles

/// Keeps the handlers that take calls (`voip` in `UIBackgroundModes`) running: starts them at login, and again when their
/// process has failed ("Implementing a VoIP App").
///
/// It belongs to the router's actor.
final class VoIPHandlers {
    private let handlers: KnownHandlers
    private let sessions: HandlerSessions
    /// The directory that the system empties when the user logs out; nil without one.
    private let runtimeDirectory: String?
    /// The handlers that are started again after a pause.
    private var timers: [BusName: RestartableTimer] = [:]

    init(_ handlers: KnownHandlers, _ sessions: HandlerSessions, runtimeDirectory: String?) {
        self.handlers = handlers
        self.sessions = sessions
        self.runtimeDirectory = runtimeDirectory
        // A process may end after the router is released.
        sessions.shared.processFailed = { [weak self] id, wasKilled in self?.relaunch(id, wasKilled) }
    }

    private var log: Logger { sessions.shared.log }

    /// Starts the handlers, unless an earlier router has done so since the user logged in. Call this when the running
    /// handlers are known.
    ///
    /// Without `XDG_RUNTIME_DIR`, the router cannot tell a login from its own restart, so it starts none.
    func startAtLogin() {
        guard let runtimeDirectory, isFirst(in: "\(runtimeDirectory)/openurl") else { return }
        for handler in handlers.registry.handlers where handler.takesCalls && !isRunning(handler) {
            start(handler, .login)
        }
    }

    private static let marker = "logged-in"

    /// Returns whether this is the first router since the login, and remembers that there was one.
    private func isFirst(in directory: String) -> Bool {
        do throws(FileError) {
            let files = try PrivateDirectory(directory, isMade: true)
            if try files.names().contains(Self.marker) { return false }
            try files.replace(Self.marker, with: [])
            return true
        } catch {
            log.warning("handlers are not started at login: \(printable(directory)) \(error)")
            return false
        }
    }

    private func isRunning(_ handler: Handler) -> Bool { sessions[handler.id]?.isRunning == true }

    /// Starts a handler again whose process has failed, when its quarantine is over. If the router has killed the
    /// process for hanging, the pause is the same, because no caller waits for the next launch, and so none can give up
    /// on it.
    private func relaunch(_ id: BusName, _ wasKilled: Bool) {
        // The program of a claim belongs to the process that has started it.
        guard let handler = handlers.registry.handler(named: id.rawValue), handler.takesCalls,
            sessions.shared.runners[id] == nil, !sessions.shared.isEnding
        else { return }
        let pause = wasKilled ? sessions.shared.limits.quarantine : sessions[id]?.quarantine.timeLeft
        guard let pause else { return start(handler, .relaunch) }
        log.notice("it is started again in \(pause.inWords)", metadata: ["handler": "\(id)"])
        let timer = timers[id] ?? RestartableTimer(on: sessions.shared.loop)
        timers[id] = timer
        timer.start(in: pause + .milliseconds(1)) { [self] in
            timers[id] = nil
            guard let handler = handlers.registry.handler(named: id.rawValue), handler.takesCalls,
                !isRunning(handler)
            else { return }
            start(handler, .relaunch)
        }
    }

    private func start(_ handler: Handler, _ reason: LaunchReason) {
        let session = sessions.obtain(for: handler)
        let request = OpenRequest(waking: WakeContext(.known(reason)), observed: nil)
        request.account = "the handler \(handler.id)"
        sessions.shared.tasks.start { [log, limits = sessions.shared.limits] in
            // A request that joins those of the process that has just ended would fail with them.
            _ = await session.wait(for: limits.endTimeout + limits.nameTimeout) { state in
                switch state {
                case .lostProcess, .ending: false
                case .notRunning, .lookingForOwner, .starting, .running, .suspending, .suspended, .waking: true
                }
            }
            do throws(OpenURLError) {
                try await session.wake(request)
            } catch {
                let cause = session.withoutSecrets(error.text)
                log.warning("it was not started (\(reason.rawValue)): \(cause)", metadata: ["handler": "\(handler.id)"])
            }
        }
    }
}

extension Handler {
    /// Whether the handler takes calls, so that it is started at login and again after a failure.
    fileprivate var takesCalls: Bool {
        kind == .native && program != nil && manifest.backgroundModes.contains(.voip)
    }
}
