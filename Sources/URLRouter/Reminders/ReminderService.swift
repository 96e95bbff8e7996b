internal import DBus

/// A service of the desktop that can show reminders.
protocol ReminderService: Sendable {
    /// The connection that owns the service's name. Another one would not know the reminders.
    var owner: BusName { get }
    /// Shows a reminder until the user closes it. Returns the service's name for it.
    ///
    /// - Parameter number: no other reminder of the router has it.
    func show(_ reminder: Reminder, _ number: UInt64) async throws(CallError) -> String
    /// Takes a reminder off the screen.
    func close(_ id: String) async throws(CallError)
    /// Returns functions that report the events from now on, each until its task is cancelled.
    func readers() async throws(CallError) -> [(_ report: @escaping (ReminderEvent) -> Void) async -> Void]
}

/// Something that a service reports about a reminder.
enum ReminderEvent {
    /// The token that lets the program behind the next click take the focus.
    case token(id: String, String)
    case clicked(id: String, token: String?)
    case closed(id: String)

    /// The service's name for the notification.
    var id: String {
        switch self {
        case .token(let id, _), .clicked(let id, _), .closed(let id): id
        }
    }
}

extension NotificationService: ReminderService {
    func show(_ reminder: Reminder, _ number: UInt64) async throws(CallError) -> String {
        let capabilities = try await capabilities()
        return "\(try await show(reminder.notification(for: capabilities), capabilities))"
    }

    func close(_ id: String) async throws(CallError) {
        if let number = UInt32(id) { try await close(number) }
    }

    func readers() async throws(CallError) -> [(_ report: @escaping (ReminderEvent) -> Void) async -> Void] {
        let signals = try await signals()
        return [
            { report in
                for await signal in signals.tokens {
                    report(.token(id: "\(signal.body.values.0)", signal.body.values.1))
                }
            },
            { report in
                // There is one action only.
                for await signal in signals.invoked { report(.clicked(id: "\(signal.body.values.0)", token: nil)) }
            },
            { report in
                for await signal in signals.closed { report(.closed(id: "\(signal.body.values.0)")) }
            },
        ]
    }
}
