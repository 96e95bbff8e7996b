public import DBus

/// `org.openurl.Request1`: a request's handle, which the caller uses to follow and cancel the request.
///
/// If a caller passes ``OpenOptions/handleToken``, it has a handle at ``path(of:_:)`` from the moment when the router
/// gets the call until the answer. Only the connection that made the request may use it; every other caller gets the
/// error ``OpenURLError/Code/notAllowed``, whether or not there is a handle. Disconnecting does not cancel the
/// request.
///
/// If another of the caller's unanswered requests has the token, the error is `org.freedesktop.DBus.Error.InvalidArgs`.
public enum RequestInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Request1"

    /// Withdraws the request. Returns at once; the request itself then ends with the error
    /// ``OpenURLError/Code/cancelled``, unless its handler answers otherwise.
    ///
    /// If the URL has not reached a handler yet, it is not delivered. Otherwise, the router calls
    /// ``HandlerInterface/cancel``, and the handler has two seconds for its answer, which is then the outcome of the
    /// request. If the handler lacks that method, or if a command has the URL, the request ends at once, and the URL stays
    /// where it is. A second call does nothing. Once the request has its answer, the error is
    /// `org.freedesktop.DBus.Error.UnknownObject`.
    public static let cancel = Method<Empty, Empty>(name, "Cancel")
    /// Reports how much of the work the handler has done: a fraction from 0 to 1, and some text for people to read. The
    /// signal goes only to the caller, at most ten times a second. The last report is always sent, and arrives before
    /// the answer.
    public static let progress = Signal<Arguments<Double, String>>(
        name,
        "Progress",
        arguments: ["fraction", "message"]
    )
    /// Reports that an application's command has been started with the URL of a ``RelayInterface/openURL``: the policy, and
    /// the user if asked, have let the URL through. The method itself returns only when the outcome is known.
    ///
    /// The signal goes only to the caller, and only if the request has a handle. It is sent for each command that is
    /// started, even if the command then fails, but not for a handler or for an application that gets the URL over the
    /// bus.
    public static let started = Signal<Empty>(name, "Started")

    /// The path above all handles.
    public static let root: ObjectPath = "/org/openurl/Router1/request"

    /// Returns a handle's path.
    ///
    /// - Parameter caller: The unique name of the connection that makes the request.
    /// - Returns: Nil if the name is not a unique name.
    public static func path(of caller: BusName, _ token: HandleToken) -> ObjectPath? {
        directory(of: caller).flatMap { ObjectPath($0 + token.rawValue) }
    }

    /// Returns the beginning of the paths of all of a caller's handles, with a slash at the end.
    package static func directory(of caller: BusName) -> String? {
        guard caller.isUnique else { return nil }
        let root = root.rawValue.utf8
        let name = caller.rawValue.utf8.dropFirst()
        // Each request over the lane has a handle, so this builds the string in one step.
        return unsafe String(unsafeUninitializedCapacity: root.count + name.count + 2) { bytes in
            var count = 0
            func append(_ byte: UInt8) {
                unsafe bytes[count] = byte
                count += 1
            }
            for byte in root { append(byte) }
            append(UInt8(ascii: "/"))
            for byte in name { append(byte.isPathByte ? byte : UInt8(ascii: "_")) }
            append(UInt8(ascii: "/"))
            return count
        }
    }
}
