internal import DBus
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry

/// Shows reminders to the user.
protocol ReminderShowing {
    /// Shows a reminder, and returns when the desktop has it.
    ///
    /// - Parameter onEnd: called on the router's event loop when the reminder leaves the screen.
    /// - Returns: a function that takes the reminder off the screen again.
    /// - Throws: `launchFailed` if the desktop cannot show it now.
    func show(_ reminder: Reminder, onEnd: @escaping (ReminderEnd) -> Void) async throws(OpenURLError) -> () -> Void
}

/// Why a reminder is no longer on the screen.
enum ReminderEnd {
    /// The user has clicked on it. The token lets the handler take the focus, if there is one.
    case clicked(token: String?)
    case gone
}

/// A desktop without notifications, as in a router without a session.
struct NoDesktop: ReminderShowing {
    func show(
        _ reminder: Reminder,
        onEnd: @escaping (ReminderEnd) -> Void
    ) async throws(OpenURLError) -> () -> Void {
        throw OpenURLError(.launchFailed, "there is no service that shows notifications")
    }
}

/// Shows the URLs in the queue that have a text for a notification, instead of delivering them. A click puts the URL into
/// the queue once more, without the text, so that it is delivered like any other.
///
/// It belongs to the router's actor.
final class Reminders: DeliveryReceiver {
    private let screen: ShownReminders
    private let handlers: KnownHandlers
    private let log: Logger
    private let tasks: RouterTasks
    /// Returns who would get a delivery now, or the reason why nobody would.
    private let receiver: (Delivery) async -> Result<String, OpenURLError>
    /// The queue; nil if there is nowhere to store it.
    private let deliveries: DeliveryScheduler?

    init(
        _ screen: ShownReminders,
        _ handlers: KnownHandlers,
        log: Logger,
        tasks: RouterTasks,
        receiver: @escaping (Delivery) async -> Result<String, OpenURLError>,
        deliveries: DeliveryScheduler?
    ) {
        self.screen = screen
        self.log = log
        self.tasks = tasks
        self.receiver = receiver
        self.handlers = handlers
        self.deliveries = deliveries
    }

    func takes(_ delivery: Delivery) -> Bool { delivery.options.notification != nil }

    /// Shows a delivery's reminder.
    func attempt(_ delivery: Delivery, _ id: Int64, _ number: Int) async -> DeliveryAttempts.Result {
        let place = screen.enter(delivery, id)
        do throws(OpenURLError) {
            _ = try await receiver(delivery).get()
            let name = handlers.registry.handler(named: delivery.handler)?.name
            try await screen.show(place, handler: name) { [weak self] in self?.open(delivery, id, token: $0) }
        } catch {
            screen.leave(place)
            return .failed(error, wasHandedOver: false)
        }
        return .delivered(OpenResult(handler: delivery.handler, way: .notified, reply: [:], trace: []))
    }

    func withdraw(_ id: Int64) {
        screen.withdraw(id)
    }

    private func open(_ delivery: Delivery, _ id: Int64, token: String?) {
        var options = delivery.options
        (options.deliveryTime, options.repeatInterval, options.notification) = (nil, nil, nil)
        options.activationToken = token
        // Each click on a repeated reminder is a request of its own.
        options.requestID = RequestID(rawValue: delivery.name(id))
        let clicked = Delivery(
            url: delivery.url,
            handler: delivery.handler,
            options: options,
            context: delivery.context
        )
        tasks.start {
            do throws(OpenURLError) {
                _ = try await self.deliveries?.accept(clicked)
            } catch {
                self.log.error("queued URL \(id): the click on its notification was lost: \(error)")
            }
        }
    }
}
