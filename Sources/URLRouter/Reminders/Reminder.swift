internal import OpenURLBus
internal import Translations
internal import UserFiles

/// A notification about a delivery in the queue, which a click puts there again.
struct Reminder: Sendable, Hashable {
    /// The title that the handler has chosen, or the handler's name or identifier.
    let title: String
    /// The sender's text. Unless the user or the handler itself has sent it, the first line names the sender.
    let text: String
    /// The application that the reminder counts towards.
    let account: String

    /// Length of a title, in characters.
    private static let titleLength = 80
    /// The action of a click on the notification itself, in the specification.
    private static let click = "default"

    /// Creates a reminder of a delivery with a text for a notification.
    ///
    /// - Parameter name: The handler's name; nil if the handler is unknown by now.
    init(_ delivery: Delivery, handler name: String?) {
        let text = delivery.options.notification ?? ""
        let title = delivery.context.localNotification?.title ?? name ?? delivery.handler
        self.title = String(printableLine(title).prefix(Self.titleLength))
        account = delivery.caller
        // A line break is the only control character that a text may have.
        let lines = text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
        // At the end, the sender's text could move the signature out of sight.
        let signature = delivery.context.source.signature(for: delivery.handler).map { [$0] } ?? []
        self.text = (signature + lines.map { printableLine(String($0)) }).joined(separator: "\n")
    }

    /// Returns the notification for a service with these capabilities. Some services show only a title.
    func notification(for capabilities: [String]) -> NotificationService.Notification {
        NotificationService.Notification(
            icon: "appointment-soon",
            title: capabilities.contains("body") ? title : "\(title): \(text)",
            text: text,
            actions: capabilities.contains("actions") ? [(Self.click, translated("Open"))] : [],
            urgency: .normal
        )
    }
}

extension OpenContext.Source {
    /// Names the sender of a reminder for a handler; nil for the user's own programs, and for the handler itself.
    fileprivate func signature(for handler: String) -> String? {
        switch callerClass.known {
        case .user: nil
        case .handler where application == handler: nil
        case .handler, .sandboxed, .remote, .unknown, nil:
            application.map { translated("(from \(printable($0)))") } ?? translated("(from a program without a name)")
        }
    }
}
