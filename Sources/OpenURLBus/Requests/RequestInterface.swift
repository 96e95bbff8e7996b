public import DBus

/// `org.openurl.Request1`: the handle of a request, with which its caller follows and cancels the request.
///
/// A caller that passes ``OpenOptions/handleToken`` gets a handle at ``path(of:_:)`` from the moment at which the router has the
/// call until the answer. Only the connection that made the request may use the handle; every other caller gets the error
/// ``OpenURLError/Code/notAllowed``, whether there is a handle or not. A caller that has gone has not cancelled anything.
///
/// A token that another unanswered request of the same caller has is the error `org.freedesktop.DBus.Error.InvalidArgs`.
public enum RequestInterface {
    /// The interface's name.
    public static let name: InterfaceName = "org.openurl.Request1"

    /// Withdraws the request. Returns at once, and the request itself then ends with the error
    /// ``OpenURLError/Code/cancelled``.
    ///
    /// A URL that no handler has yet does not arrive any more. Otherwise the router calls ``HandlerInterface/cancel``, and the
    /// handler has two seconds for its answer, which is then the outcome of the request. A second call does nothing. The error is
    /// `org.freedesktop.DBus.Error.UnknownObject` for a request that has its answer.
    public static let cancel = Method<Empty, Empty>(name, "Cancel")
    /// The handler reports how much of its work is done: a fraction from 0 to 1, and a text for a person. The signal goes to the
    /// caller alone, at most ten times a second, and always with the last report. The last report comes before the answer.
    public static let progress = Signal<Arguments<Double, String>>(
        name,
        "Progress",
        arguments: ["fraction", "message"]
    )

    /// The path above all handles.
    public static let root: ObjectPath = "/org/openurl/Router1/request"

    /// Returns the path of a handle.
    ///
    /// - Parameter caller: the unique name of the connection that makes the request.
    /// - Returns: nil for a name of another kind.
    public static func path(of caller: BusName, _ token: HandleToken) -> ObjectPath? {
        directory(of: caller).flatMap { ObjectPath("\($0)\(token.rawValue)") }
    }

    /// Returns the beginning that the paths of all handles of a caller have, with a slash at the end.
    package static func directory(of caller: BusName) -> String? {
        guard caller.isUnique else { return nil }
        let element = caller.rawValue.utf8.dropFirst().map { $0.isPathByte ? $0 : UInt8(ascii: "_") }
        return "\(root)/\(String(decoding: element, as: UTF8.self))/"
    }
}
