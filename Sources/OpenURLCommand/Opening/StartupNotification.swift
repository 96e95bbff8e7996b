/// A startup notification of X11, which the desktop shows as a busy pointer until the notification ends
/// (Startup Notification Protocol Specification, version 0.1).
///
/// A toolkit ends the notification with the first window of its process. This program and a handler of the router have no such
/// window, so this program ends the notification.
struct StartupNotification {
    private let id: String
    private let display: String

    /// The longest name of a notification, in bytes.
    private static let limit = 4096

    /// Creates a notification; nil for a name that is not of X11, and without a display.
    ///
    /// Wayland's tokens can be in the same variable. Only a name of X11 has a time.
    init?(_ id: String?, on display: String?) {
        guard let id, let display, id.contains("_TIME"), id.utf8.count <= Self.limit else { return nil }
        self.id = id
        self.display = display
    }

    /// The message that ends the notification, in the pieces of 20 bytes that fit into an event.
    var removal: [[UInt8]] {
        let value = id.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let text = Array("remove: ID=\"\(value)\"".utf8) + [0]
        return stride(from: 0, to: text.count, by: XCB.pieceSize).map { start in
            let piece = text[start...].prefix(XCB.pieceSize)
            return piece + [UInt8](repeating: 0, count: XCB.pieceSize - piece.count)
        }
    }

    /// Ends the notification. If the display cannot be reached, the desktop ends the notification after some seconds.
    func end() {
        XCB()?.broadcast(removal, as: ("_NET_STARTUP_INFO_BEGIN", "_NET_STARTUP_INFO"), on: display)
    }
}
