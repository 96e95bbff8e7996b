internal import DBus
internal import Logging
internal import OpenURLBus

/// Shows reminders to the user.
protocol ReminderShowing {
    /// Shows a reminder, and returns when the desktop has it.
    ///
    /// - Parameter onClick: Called on the router's event loop when the user clicks on it, with the token that lets the
    ///   handler take the focus, if there is one.
    /// - Throws: `launchFailed` if the desktop cannot show it now.
    func show(_ reminder: Reminder, onClick: @escaping (_ token: String?) -> Void) async throws(OpenURLError)
}

/// A desktop without notifications, as in a router without a session.
struct NoDesktop: ReminderShowing {
    func show(_ reminder: Reminder, onClick: @escaping (String?) -> Void) async throws(OpenURLError) {
        throw OpenURLError(.launchFailed, "there is no service that shows notifications")
    }
}

/// Shows the URLs in the queue that have a text for a notification, instead of delivering them. A click puts the URL into
/// the queue once more, without the text, so that it is delivered like any other.
///
/// It belongs to the router's actor.
final class Reminders {
    private let desktop: any ReminderShowing
    private let log: Logger
    private let tasks: RouterTasks
    /// Returns a handler's name.
    private let name: (_ handler: String) -> String?
    /// Returns the queue.
    private let deliveries: () -> DeliveryScheduler?

    init(
        _ desktop: any ReminderShowing,
        log: Logger,
        tasks: RouterTasks,
        name: @escaping (String) -> String?,
        deliveries: @escaping () -> DeliveryScheduler?
    ) {
        self.desktop = desktop
        self.log = log
        self.tasks = tasks
        self.name = name
        self.deliveries = deliveries
    }

    /// Shows a delivery's reminder; nil if the delivery has none.
    ///
    /// - Parameter id: The delivery's number in the queue.
    func attempt(_ delivery: Delivery, _ id: Int64) async -> DeliveryScheduler.AttemptResult? {
        guard let reminder = Reminder(delivery, handler: name(delivery.handler)) else { return nil }
        do throws(OpenURLError) {
            try await desktop.show(reminder) { [weak self] in self?.open(delivery, id, token: $0) }
        } catch {
            return .failed(error, wasHandedOver: false)
        }
        return .delivered(OpenResult(handler: delivery.handler, way: .notified, reply: [:], trace: []))
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
                _ = try await self.deliveries()?.accept(clicked)
            } catch {
                self.log.error("queued URL \(id): the click on its notification was lost: \(error)")
            }
        }
    }
}
