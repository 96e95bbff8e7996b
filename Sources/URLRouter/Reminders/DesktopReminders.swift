internal import DBus
internal import OpenURLBus

/// Shows reminders with the desktop's service for notifications.
///
/// It belongs to the router's actor.
final class DesktopReminders: ReminderShowing {
    private let connection: Connection
    private let launcher: HandlerLauncher
    private let tasks: RouterTasks
    /// The service whose notifications are on the screen; nil while there are none.
    private var service: NotificationService?
    /// The tasks that read the signals of ``service``.
    private var reading: [Task<Void, Never>?] = []
    /// The notifications on the screen, by their numbers.
    private var shown: [UInt32: Shown] = [:]
    /// How many notifications each application has on the screen.
    private var shares: Shares<String>
    /// Number of reminders that are about to be shown.
    private var showing = 0
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

    init(connection: Connection, launcher: HandlerLauncher, tasks: RouterTasks, limits: RouterLimits) {
        self.connection = connection
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
        guard let service = try await NotificationService.find(on: connection, starting: launcher.hasDisplay) else {
            return .noService
        }
        try await follow(service)
        guard makeRoom(for: reminder.account) else { return .noRoom }
        let capabilities = try await service.capabilities()
        let id = try await service.show(reminder.notification(for: capabilities), capabilities)
        // If the service has been replaced meanwhile, the notification is gone.
        guard self.service?.owner == service.owner else { return .noService }
        forget(id)
        lastNumber += 1
        let number = lastNumber
        shown[id] = Shown(number: number, account: reminder.account, onEnd: onEnd)
        shares.add(1, to: reminder.account)
        return .shown { [weak self] in
            // The service may have given the number to another notification by now.
            guard let self, self.shown[id]?.number == number else { return }
            close(id, service)
            followNoneIfIdle()
        }
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

    private func close(_ id: UInt32, _ service: NotificationService) {
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
    private func forget(_ id: UInt32, _ end: ReminderEnd = .gone) {
        guard let ended = shown.removeValue(forKey: id) else { return }
        shares.remove(1, from: ended.account)
        ended.onEnd(end)
    }

    // MARK: The service's signals

    /// Reads the signals of a service, in place of those of an earlier one.
    private func follow(_ service: NotificationService) async throws(CallError) {
        guard self.service?.owner != service.owner else { return }
        let signals = try await service.signals()
        // Another reminder may have been faster.
        guard self.service?.owner != service.owner else { return }
        followNone()
        self.service = service
        reading = [
            tasks.start { [weak self] in
                for await signal in signals.tokens {
                    let (id, token) = signal.body.values
                    self?.shown[id]?.token = token
                }
            },
            tasks.start { [weak self] in
                for await signal in signals.invoked {
                    // There is one action only.
                    let id = signal.body.values.0
                    self?.forget(id, .clicked(token: self?.shown[id]?.token))
                    self?.followNoneIfIdle()
                }
            },
            tasks.start { [weak self] in
                for await signal in signals.closed {
                    self?.forget(signal.body.values.0)
                    self?.followNoneIfIdle()
                }
            },
        ]
    }

    /// Ends the reading while no notification is on the screen, so that the signals about others do not wake the router.
    private func followNoneIfIdle() {
        if shown.isEmpty, showing == 0 { followNone() }
    }

    private func followNone() {
        for task in reading { task?.cancel() }
        for id in shown.keys { forget(id) }
        (reading, service) = ([], nil)
    }
}
