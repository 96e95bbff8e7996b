internal import Glibc

/// An X11 startup notification, which the desktop shows as a busy pointer until it ends (Startup Notification Protocol
/// Specification, version 0.1).
///
/// A toolkit ends it when its process opens its first window. Because neither this program nor one of the router's
/// handlers has such a window, this program ends it.
struct StartupNotification {
    private let id: String
    private let display: String

    /// The maximum length of a notification's ID, in bytes.
    private static let limit = 4096

    /// Creates a notification; nil if there is no display, or if the ID is not X11's.
    ///
    /// The same variable can hold a Wayland token. Only an X11 ID contains a time.
    init?(_ id: String?, on display: String?) {
        guard let id, let display, strstr(id, "_TIME") != nil, id.utf8.count <= Self.limit else { return nil }
        self.id = id
        self.display = display
    }

    /// The message that ends the notification, in pieces of 20 bytes, which is what an event can hold.
    var removal: [[UInt8]] {
        let value = String(id.flatMap { $0 == "\\" || $0 == "\"" ? ["\\", $0] : [$0] })
        let text = Array("remove: ID=\"\(value)\"".utf8) + [0]
        return stride(from: 0, to: text.count, by: XCB.pieceSize).map { start in
            let piece = text[start...].prefix(XCB.pieceSize)
            return piece + [UInt8](repeating: 0, count: XCB.pieceSize - piece.count)
        }
    }

    /// How long the display may take to accept the message, in milliseconds.
    private static let timeLimit: CInt = 1000

    /// Ends the notification. If the display does not accept the message, the desktop ends the notification after a few
    /// seconds.
    ///
    /// This uses another thread, because a display on another machine may never answer. That thread ends with the
    /// program.
    func end() {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        defer { close(ends[0]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let removal = Unmanaged.passRetained(Removal(notification: self, done: ends[1]))
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            nil,
            { argument in
                if let argument { Unmanaged<Removal>.fromOpaque(argument).takeRetainedValue().perform() }
                return nil
            },
            removal.toOpaque()
        )
        guard status == 0 else {
            removal.release()
            close(ends[1])
            return
        }
        pthread_detach(thread)
        var end = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        poll(&end, 1, Self.timeLimit)
    }

    private final class Removal: Sendable {
        private let notification: StartupNotification
        private let done: CInt

        init(notification: StartupNotification, done: CInt) {
            self.notification = notification
            self.done = done
        }

        func perform() {
            let types = (first: "_NET_STARTUP_INFO_BEGIN", others: "_NET_STARTUP_INFO")
            XCB()?.broadcast(notification.removal, as: types, on: notification.display)
            close(done)
        }
    }
}
