internal import DBus
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry

/// The handlers' own notifications: schedules them in the queue, and shows each when its time comes, or gives it quietly to
/// a handler that is active.
///
/// It belongs to the router's actor.
final class LocalNotifications: DeliveryReceiver {
    private let handlers: KnownHandlers
    private let sessions: HandlerSessions
    private let callers: Callers
    private let attempts: WakingAttempts
    private let screen: ShownReminders
    /// Returns who would get a notification's URL now, or the reason why nobody would.
    private let receiver: (Delivery) async -> Result<String, OpenURLError>
    /// The queue; nil if there is nowhere to store it.
    private let deliveries: DeliveryScheduler?

    /// Identifiers for notifications whose handlers give none.
    private var names = RequestNames()

    init(
        _ handlers: KnownHandlers,
        _ sessions: HandlerSessions,
        _ callers: Callers,
        _ monitor: Monitor,
        _ screen: ShownReminders,
        receiver: @escaping (Delivery) async -> Result<String, OpenURLError>,
        deliveries: DeliveryScheduler?
    ) {
        self.handlers = handlers
        self.sessions = sessions
        self.callers = callers
        attempts = WakingAttempts(sessions, monitor)
        self.screen = screen
        self.receiver = receiver
        self.deliveries = deliveries
    }

    // MARK: Calls

    /// Schedules a handler's notification. Returns its identifier once it is on disk.
    func schedule(
        _ notification: LocalNotification,
        of id: BundleIdentifier,
        caller name: BusName?
    ) async throws(OpenURLError) -> String {
        guard let handler = handlers.registry[id] else { throw OpenURLError(unknownHandler: id.rawValue) }
        guard handlers.temporary.reason(for: id) == nil else {
            let reason = "and a notification may come after that"
            throw OpenURLError(.notAllowed, "\(id) is registered only temporarily, \(reason)")
        }
        guard handler.canBeWoken || notification.url != nil else {
            throw OpenURLError(.notAllowed, "\(id) runs only to open URLs; give the notification a URL")
        }
        guard let deliveries else {
            throw OpenURLError(.notQueued, "there is no directory for the queue; set HOME or XDG_STATE_HOME")
        }
        let identifier = notification.identifier.isEmpty ? names.next() : notification.identifier
        var context = OpenContext()
        context.localNotification = notification.scheduled(as: identifier)
        let caller = await callers.caller(name)
        // A program in a sandbox may have the identifier, and still not be the handler.
        context.sourceApplication = caller.callerClass.isConfined ? caller.handler?.id.rawValue : id.rawValue
        context.source = source(of: caller, for: id)
        var options = OpenOptions()
        options.notification = notification.text
        options.deliveryTime = notification.deliveryTime
        options.repeatInterval = notification.repeatInterval
        let url = DeliveryStore.notificationScheme + identifier
        let delivery = Delivery(url: url, handler: id.rawValue, options: options, context: context)
        if let url = notification.url, case .failure(let error) = await receiver(delivery.opening(url)) {
            throw caller.callerClass.isConfined ? error.forConfinedCallers : error
        }
        let limit = NotificationsInterface.notificationsPerHandler
        _ = try await deliveries.accept(delivery, keepingSoonest: limit)
        // In the meantime, the handler may have been unregistered, together with the notifications that were on disk.
        guard handlers.registry[id] != nil else {
            await cancelAll(of: id)
            throw OpenURLError(unknownHandler: id.rawValue)
        }
        return identifier
    }

    /// Returns the program to which the notification counts. One of the user's programs acts for the handler.
    private func source(of caller: Caller, for id: BundleIdentifier) -> OpenContext.Source {
        var source = caller.source
        guard source.callerClass.known == .user || source.callerClass == .absent else {
            (source.pid, source.uniqueName) = (nil, nil)
            return source
        }
        source = OpenContext.Source()
        source.callerClass = .known(.handler)
        source.application = id.rawValue
        return source
    }

    /// Removes a handler's notifications, from the screen too.
    ///
    /// - Parameter identifier: the only notification that counts; nil for all.
    func cancel(_ identifier: String?, of id: BundleIdentifier) async throws(RemoteError) {
        // A notification that is just being shown is still in the queue.
        defer { screen.withdraw { _, shown in shown.isNotification(of: id.rawValue, identifier) } }
        let url = identifier.map { DeliveryStore.notificationScheme + $0 }
        guard let deliveries else { return }
        try await asking { () async throws(DeliveryStoreError) in
            try await deliveries.dropNotifications(of: id.rawValue, url)
        }
    }

    /// Removes all notifications of a handler that is no longer registered. Another program may get its identifier.
    func cancelAll(of id: BundleIdentifier) async {
        do throws(RemoteError) {
            try await cancel(nil, of: id)
        } catch {
            sessions.shared.log.error(
                "its notifications were not removed: \(error.message)",
                metadata: ["handler": "\(id)"]
            )
        }
    }

    /// Returns the notifications that are still to come, the soonest first.
    ///
    /// - Parameter id: the handler; nil for all.
    func list(of id: String?) async throws(RemoteError) -> [LocalNotification] {
        guard let deliveries else { return [] }
        return try await asking { () async throws(DeliveryStoreError) in
            try await deliveries.store.notifications(of: id, limit: NotificationsInterface.notificationsPerList)
        }
    }

    // MARK: Deliveries

    /// A click on a notification with a URL is the opener's.
    func takes(_ delivery: Delivery) -> Bool {
        guard let notification = delivery.context.localNotification else { return false }
        return !notification.isClicked || notification.url == nil
    }

    /// Tries once to show a notification, or to bring its handler to the foreground after a click.
    func attempt(_ delivery: Delivery, _ id: Int64, _ number: Int) async -> DeliveryAttempts.Result {
        guard let notification = delivery.context.localNotification,
            let handler = handlers.registry.handler(named: delivery.handler)
        else { return .failed(OpenURLError(unknownHandler: delivery.handler), wasHandedOver: false) }
        if notification.isClicked {
            return await attempts.activate(handler, delivery.wakeContext, for: delivery, id, number)
        }
        let place = screen.enter(delivery, id)
        do throws(OpenURLError) {
            if let result = await deliverQuietly(to: handler, delivery, id, number) {
                screen.leave(place)
                return .delivered(result)
            }
            if let url = notification.url { _ = try await receiver(delivery.opening(url)).get() }
            screen.withdraw { other, shown in
                other != id && shown.isNotification(of: delivery.handler, notification.identifier)
            }
            try await screen.show(place, handler: handler.name) { [weak self] in
                self?.click(delivery, notification, $0)
            }
        } catch {
            screen.leave(place)
            return .failed(error, wasHandedOver: false)
        }
        return .delivered(OpenResult(handler: delivery.handler, way: .notified, reply: [:], trace: []))
    }

    /// Gives a notification to a handler that is active.
    ///
    /// - Returns: nil if the notification has to be shown, because the handler isn't active, or not any longer.
    private func deliverQuietly(
        to handler: Handler,
        _ delivery: Delivery,
        _ id: Int64,
        _ number: Int
    ) async -> OpenResult? {
        guard handler.canBeWoken, sessions.state(of: handler.id) == .active,
            case .delivered(let result) = await attempts.wake(handler, delivery.wakeContext, for: delivery, id, number)
        else { return nil }
        return result.way == .active ? result : nil
    }

    /// Puts what the click is for into the queue: the notification's URL, or the notification itself.
    private func click(_ delivery: Delivery, _ notification: LocalNotification, _ token: String?) {
        var options = OpenOptions()
        options.activationToken = token
        var context = delivery.context
        context.localNotification = notification.clicked()
        sessions.shared.tasks.start { [self] in
            do throws(OpenURLError) {
                var clicked = Delivery(url: delivery.url, handler: delivery.handler, options: options, context: context)
                if let url = notification.url { clicked = await clickOpening(url, clicked) }
                _ = try await deliveries?.accept(clicked)
            } catch {
                let reason = "the click on a notification was lost: \(error)"
                sessions.shared.log.error("\(reason)", metadata: ["handler": "\(delivery.handler)"])
            }
        }
    }

    /// Returns the delivery of a notification's URL to the handler or application that would get it now.
    private func clickOpening(_ url: String, _ clicked: Delivery) async -> Delivery {
        var (options, context) = (clicked.options, clicked.context)
        // Without a receiver, the delivery fails, and the queue shows why.
        let receiver = await receiver(clicked.opening(url))
        let handler = if case .success(let id) = receiver { id } else { clicked.handler }
        if handler == clicked.handler {
            // No other handler may get the notification with the URL.
            options.handler = handler
        } else {
            context.localNotification = nil
        }
        return Delivery(url: url, handler: handler, options: options, context: context)
    }

    func withdraw(_ id: Int64) {
        screen.withdraw(id)
        attempts.withdraw(id)
    }
}

extension Delivery {
    /// Whether this is a notification of a handler.
    ///
    /// - Parameter identifier: the only notification that counts; nil for all.
    fileprivate func isNotification(of handler: String, _ identifier: String?) -> Bool {
        guard let notification = context.localNotification, self.handler == handler else { return false }
        return identifier == nil || identifier == notification.identifier
    }

    /// The notification and its reason, for the handler.
    fileprivate var wakeContext: WakeContext {
        var wakeContext = WakeContext(.known(.notification))
        wakeContext.localNotification = context.localNotification
        return wakeContext
    }

    /// Returns the delivery of a URL in place of this one's.
    fileprivate func opening(_ url: String) -> Delivery {
        Delivery(url: url, handler: handler, options: OpenOptions(), context: context)
    }
}
