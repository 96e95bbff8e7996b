internal import DBus
internal import OpenURLBus

/// Shows reminders with the desktop's service for notifications, or with its portal if there is no service.
///
/// It belongs to the router's actor.
final class DesktopReminders: ReminderShowing {
    private let services: ServiceOwners
    private let launcher: HandlerLauncher
    private let tasks: RouterTasks
    /// The service whose notifications are on the screen; nil while there are none.
    private var service: (any ReminderService)?
    /// The tasks that read the signals of ``service``.
    private var reading: [Task<Void, Never>?] = []
    /// The notifications on the screen, by the service's names for them.
    private var shown: [String: Shown] = [:]
    /// How many notifications each application has on the screen.
    private var shares: Shares<String>
    /// Number of reminders that are about to be shown.
    private var showing = 0
    /// Events that came before the service had given the names of these reminders.
    private var early: [ReminderEvent] = []
    /// Maximum number of ``early`` events. Other programs' notifications cause some, too.
    private static let earlyEvents = 64
    private var lastNumber: UInt64 = 0

    private struct Shown {
        let number: UInt64
        let account: String
        let onEnd: (ReminderEnd) -> Void
        var token: String?
    }

    private enum Outcome {
        case shown(() -> Void), noService, noRoom
    }

    init(services: ServiceOwners, launcher: HandlerLauncher, tasks: RouterTasks, limits: RouterLimits) {
        self.services = services
        self.launcher = launcher
        self.tasks = tasks
        shares = Shares(limit: limits.shownReminders)
    }

    func show(
        _ reminder: Reminder,
        onEnd: @escaping (ReminderEnd) -> Void
    ) async throws(OpenURLError) -> () -> Void {
        await launcher.session.startUpdate()?.value
        showing += 1
        defer {
            showing -= 1
            followNoneIfIdle()
        }
        let outcome: Outcome
        do throws(CallError) {
            outcome = try await present(reminder, onEnd)
        } catch {
            throw OpenURLError(.launchFailed, "the notification was not shown: \(error)")
        }
        switch outcome {
        case .shown(let close): return close
        case .noService:
            let reason = "org.freedesktop.Notifications is not on the session bus"
            throw OpenURLError(.launchFailed, "the notification was not shown: \(reason)")
        case .noRoom:
            throw OpenURLError(.limitsExceeded, "other programs have too many notifications on the screen")
        }
    }

    private func present(
        _ reminder: Reminder,
        _ onEnd: @escaping (ReminderEnd) -> Void
    ) async throws(CallError) -> Outcome {
        guard let service = try await findService() else { return .noService }
        try await follow(service)
        guard makeRoom(for: reminder.account) else { return .noRoom }
        lastNumber += 1
        let number = lastNumber
        let id = try await service.show(reminder, number)
        // If the service has been replaced meanwhile, the notification is gone.
        guard self.service?.owner == service.owner else { return .noService }
        forget(id)
        shown[id] = Shown(number: number, account: reminder.account, onEnd: onEnd)
        shares.add(1, to: reminder.account)
        let events = early.filter { $0.id == id }
        early.removeAll { $0.id == id }
        // The caller first learns that it is shown.
        if !events.isEmpty { tasks.start { [weak self] in events.forEach { self?.take($0) } } }
        return .shown { [weak self] in
            // The service may have given the number to another notification by now.
            guard let self, self.shown[id]?.number == number else { return }
            close(id, service)
            followNoneIfIdle()
        }
    }

    private func findService() async throws(CallError) -> (any ReminderService)? {
        let starting = launcher.hasDisplay
        if let service = try await NotificationService.find(among: services, starting: starting) { return service }
        return try await NotificationPortal.find(among: services, starting: starting)
    }

    /// Closes the oldest notifications of an application, so that it can have another one.
    ///
    /// - Returns: False if others have too many.
    private func makeRoom(for account: String) -> Bool {
        while shares.refusal(of: account, 1) != nil {
            let oldest = shown.filter { $0.value.account == account }.min { $0.value.number < $1.value.number }
            guard let oldest, let service else { return false }
            close(oldest.key, service)
        }
        return true
    }

    private func close(_ id: String, _ service: any ReminderService) {
        forget(id)
        tasks.start {
            do throws(CallError) {
                try await service.close(id)
            } catch {
                // The service has left the bus, and the notification with it.
            }
        }
    }

    /// Forgets a notification that is no longer on the screen.
    private func forget(_ id: String, _ end: ReminderEnd = .gone) {
        guard let ended = shown.removeValue(forKey: id) else { return }
        shares.remove(1, from: ended.account)
        ended.onEnd(end)
    }

    // MARK: The service's signals

    /// Reads the signals of a service, in place of those of an earlier one.
    private func follow(_ service: any ReminderService) async throws(CallError) {
        guard self.service?.owner != service.owner else { return }
        let readers = try await service.readers()
        // Another reminder may have been faster.
        guard self.service?.owner != service.owner else { return }
        followNone()
        self.service = service
        reading = readers.map { read in tasks.start { [weak self] in await read { self?.take($0) } } }
    }

    private func take(_ event: ReminderEvent) {
        if shown[event.id] == nil, showing > 0, early.count < Self.earlyEvents { early.append(event) }
        switch event {
        case .token(let id, let token): shown[id]?.token = token
        case .clicked(let id, let token): forget(id, .clicked(token: token ?? shown[id]?.token))
        case .closed(let id): forget(id)
        }
        followNoneIfIdle()
    }

    /// Ends the reading while no notification is on the screen, so that the signals about others do not wake the router.
    private func followNoneIfIdle() {
        if showing == 0 { early = [] }
        if shown.isEmpty, showing == 0 { followNone() }
    }

    private func followNone() {
        for task in reading { task?.cancel() }
        for id in shown.keys { forget(id) }
        (reading, service) = ([], nil)
    }
}
