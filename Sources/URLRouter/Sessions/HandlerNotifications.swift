internal import DBus
internal import Logging
internal import OpenURLBus

/// The part of a handler's session that ``HandlerNotifications`` uses.
protocol NotificationsView: SessionView {
    /// Time limit for the answer to one URL, if the sender sets none.
    var openTimeout: Duration { get }
}

/// Sends one handler its notifications and warnings, and keeps the notifications while the handler is suspended.
///
/// It belongs to the router's actor.
final class HandlerNotifications {
    private let id: BusName
    private let shared: SharedParts
    private unowned let session: any NotificationsView

    init(_ id: BusName, _ shared: SharedParts, _ session: any NotificationsView) {
        self.id = id
        self.shared = shared
        self.session = session
    }

    private var process: HandlerProcess { session.process }

    /// Delivers a notification. While the handler is suspended, only the latest one of each kind is kept.
    func deliver(_ kind: String, _ value: Value) async throws(OpenURLError) {
        let bytes = try KeptNotifications.bytes(kind, value, shared.limits)
        switch session.machine.state {
        case .suspending, .suspended, .waking:
            try process.notifications.keep(kind, value, bytes: bytes, for: id, shared.limits)
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .ending:
            guard let owner = session.machine.owner else { throw OpenURLError(.notAllowed, "\(id) is not running") }
            process.notifications.add(kind, value)
            await send(to: owner)
        }
    }

    /// Sends the notifications that were kept. Otherwise, a later value would arrive before an earlier one.
    func send(to owner: BusName) async {
        let notifications = process.notifications.take()
        guard !notifications.isEmpty else { return }
        do throws(CallError) {
            try await shared.bus.notify(notifications, id, at: owner, timeout: session.openTimeout)
        } catch {
            shared.log.debug("\(id) did not take notifications: \(error)")
        }
    }

    /// Warns a running handler that memory is short ("Observe Low-Memory Warnings").
    func warnOfMemory(_ owner: BusName) async {
        let session = session
        // If the handler has not dealt with the last warning yet, it does not need another.
        guard !process.isWarned else { return }
        process.isWarned = true
        defer { if session.machine.connection == owner { session.process.isWarned = false } }
        do throws(CallError) {
            try await shared.bus.receiveMemoryWarning(id, at: owner, timeout: shared.limits.eventTimeout)
        } catch {
            shared.log.debug("\(id) did not take a memory warning: \(error)")
        }
    }
}
