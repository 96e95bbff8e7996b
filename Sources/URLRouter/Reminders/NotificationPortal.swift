internal import DBus
internal import OpenURLBus

/// The desktop's portal for notifications, `org.freedesktop.portal.Notification`, for a desktop without the service.
struct NotificationPortal: ReminderService {
    let connection: Connection
    let owner: BusName

    private static let name: BusName = "org.freedesktop.portal.Desktop"
    private static let path: ObjectPath = "/org/freedesktop/portal/desktop"
    private static let interface: InterfaceName = "org.freedesktop.portal.Notification"
    private static let version = Property<UInt32>(interface, "version")
    private static let add = Method<Arguments<String, [String: Value]>, Empty>(interface, "AddNotification")
    private static let remove = Method<String, Empty>(interface, "RemoveNotification")
    private static let invoked = Signal<Arguments<String, String, [Value]>>(interface, "ActionInvoked")
    /// Tells the portal which desktop entry stands for the router. Earlier portals lack this.
    private static let register = Method<Arguments<String, [String: Value]>, Empty>(
        "org.freedesktop.host.portal.Registry",
        "Register"
    )
    /// Time limit for each call to the portal.
    private static let callTimeout = Duration.seconds(5)
    /// The beginning of the identifiers of this router's notifications. Those of an earlier router may still be shown, and a
    /// notification with the same identifier would replace one of them.
    private static let prefix = "openurl-\(UInt64.random(in: .min ... .max))-"

    private var object: RemoteObject { RemoteObject(owner, Self.path) }

    /// Finds the portal; nil if there is none, or if it has no notifications.
    ///
    /// - Parameter starting: Whether the bus may start it.
    static func find(among services: ServiceOwners, starting: Bool) async throws(CallError) -> NotificationPortal? {
        let owner = try await services.owner(of: name, starting: starting, within: callTimeout)
        guard let owner else { return nil }
        let portal = NotificationPortal(connection: services.connection, owner: owner)
        do throws(CallError) {
            _ = try await portal.connection.get(version, on: portal.object, timeout: callTimeout)
        } catch .remote {
            return nil
        }
        return portal
    }

    func show(_ reminder: Reminder, _ number: UInt64) async throws(CallError) -> String {
        let id = "\(Self.prefix)\(number)"
        // Neither of them is markup.
        let notification: [String: Value] = [
            "title": .string(reminder.title), "body": .string(reminder.text), "priority": "normal",
            "default-action": "default",
        ]
        _ = try await connection.call(Self.add, on: object, Arguments(id, notification), timeout: Self.callTimeout)
        return id
    }

    func close(_ id: String) async throws(CallError) {
        try await connection.send(Self.remove, on: object, id)
    }

    /// The portal does not report that a notification has been closed.
    func readers() async throws(CallError) -> [(_ report: @escaping (ReminderEvent) -> Void) async -> Void] {
        do throws(CallError) {
            let entry = Arguments(RouterService.name.rawValue, [String: Value]())
            _ = try await connection.call(Self.register, on: object, entry, timeout: Self.callTimeout)
        } catch .remote {
            // It lacks the method, or the router has called it before.
        }
        let clicks = try await connection.signals(Self.invoked, matching: MatchRule(sender: owner, path: Self.path))
        return [
            { report in
                for await click in clicks {
                    let (id, _, parameters) = click.body.values
                    // The last one is the platform data, since version 2.
                    report(.clicked(id: id, token: parameters.last?["activation-token"]?.string))
                }
            }
        ]
    }
}
