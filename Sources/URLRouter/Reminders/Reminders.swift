internal import DBus
internal import Logging
internal import OpenURLBus

/// Shows reminders to the user.
protocol ReminderShowing {
    /// Shows a reminder, and returns when the desktop has it.
    ///
    /// - Parameter onClick: Called on the router's event loop when the user clicks on it, with the token that lets the
    ///   handler take the focus, if there is one.
    /// - Returns: takes the reminder off the screen again.
    /// - Throws: `launchFailed` if the desktop cannot show it now.
    func show(_ reminder: Reminder, onClick: @escaping (_ token: String?) -> Void) async throws(OpenURLError) -> () ->
        Void
}

/// A desktop without notifications, as in a router without a session.
struct NoDesktop: ReminderShowing {
    func show(
        _ reminder: Reminder,
        onClick: @escaping (String?) -> Void
    ) async throws(OpenURLError) -> () -> Void {
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
    /// Throws the reason why a delivery may not go to its handler any longer.
    private let check: (Delivery) async throws(OpenURLError) -> Void
    /// Reminders that are about to be shown, and the latest ones of deliveries that are repeated, by the deliveries'
    /// numbers.
    private var current: [Int64: Shown] = [:]
    /// Returns a handler's name.
    private let name: (_ handler: String) -> String?
    /// Returns the queue.
    private let deliveries: () -> DeliveryScheduler?

    private final class Shown {
        private(set) var isWithdrawn = false
        /// Takes it off the screen; nil before it is there.
        var close: (() -> Void)?

        func withdraw() {
            isWithdrawn = true
            close?()
        }
    }

    init(
        _ desktop: any ReminderShowing,
        log: Logger,
        tasks: RouterTasks,
        check: @escaping (Delivery) async throws(OpenURLError) -> Void,
        name: @escaping (String) -> String?,
        deliveries: @escaping () -> DeliveryScheduler?
    ) {
        self.desktop = desktop
        self.log = log
        self.tasks = tasks
        self.check = check
        self.name = name
        self.deliveries = deliveries
    }

    /// Shows a delivery's reminder; nil if the delivery has none.
    ///
    /// - Parameter id: The delivery's number in the queue.
    func attempt(_ delivery: Delivery, _ id: Int64) async -> DeliveryScheduler.AttemptResult? {
        guard let reminder = Reminder(delivery, handler: name(delivery.handler)) else { return nil }
        let shown = Shown()
        // A URL has one notification at most, so that its removal leaves none behind.
        current.updateValue(shown, forKey: id)?.withdraw()
        defer { if delivery.options.repeatInterval == nil { current[id] = nil } }
        do throws(OpenURLError) {
            try await check(delivery)
            let close = try await desktop.show(reminder) { [weak self] token in
                if !shown.isWithdrawn { self?.open(delivery, id, token: token) }
            }
            shown.close = close
            // In the meantime, the URL may have been removed from the queue.
            if shown.isWithdrawn { close() }
        } catch {
            return .failed(error, wasHandedOver: false)
        }
        return .delivered(OpenResult(handler: delivery.handler, way: .notified, reply: [:], trace: []))
    }

    /// Takes the reminder of a delivery that has been removed from the queue off the screen.
    func withdraw(_ id: Int64) {
        current.removeValue(forKey: id)?.withdraw()
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
