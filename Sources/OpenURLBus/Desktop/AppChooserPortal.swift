package import DBus

/// The interface through which xdg-desktop-portal asks a backend for an application, version 2
/// (`org.freedesktop.impl.portal.AppChooser`), and the permission store that says when it asks.
///
/// For a caller that opens a link through the OpenURI portal, xdg-desktop-portal passes on the caller's identity, and waits
/// for the answer without a time limit. It asks the backend only if there are several applications, if the caller wants to be
/// asked, or if the permission store has `always-ask` for the scheme.
package enum AppChooserPortal {
    /// The name of the router as a backend.
    package static let name: BusName = "org.freedesktop.impl.portal.desktop.openurl"
    /// The name of xdg-desktop-portal.
    package static let portal: BusName = "org.freedesktop.portal.Desktop"
    /// The path of every backend, and of xdg-desktop-portal.
    package static let path: ObjectPath = "/org/freedesktop/portal/desktop"
    /// The path above all handles. A handle's path continues with the caller's unique name, without its colon and with `_` for
    /// each period, and with a token.
    package static let requests: ObjectPath = "/org/freedesktop/portal/desktop/request"
    /// The backend's interface.
    package static let interface: InterfaceName = "org.freedesktop.impl.portal.AppChooser"
    /// The interface of a request's handle.
    package static let requestInterface: InterfaceName = "org.freedesktop.impl.portal.Request"

    /// Asks for an application. The results have the key `choice`, with the name of a desktop entry without its ending; if
    /// they have not, xdg-desktop-portal starts nothing, and only passes on the response.
    package static let chooseApplication = Method<
        Arguments<ObjectPath, String, String, [String], [String: Value]>, Arguments<UInt32, [String: Value]>
    >(
        interface,
        "ChooseApplication",
        inputs: ["handle", "app_id", "parent_window", "choices", "options"],
        outputs: ["response", "results"]
    )
    /// Changes the applications from which the user chooses.
    package static let updateChoices = Method<Arguments<ObjectPath, [String]>, Empty>(
        interface,
        "UpdateChoices",
        inputs: ["handle", "choices"]
    )
    /// Ends a request whose caller no longer waits.
    package static let close = Method<Empty, Empty>(requestInterface, "Close")

    /// The outcome of a request.
    package enum Response: UInt32, Sendable {
        case success = 0
        /// The user said no.
        case cancelled = 1
        case other = 2
    }

    /// Returns the unique name of the program for which xdg-desktop-portal asks; nil if the path is not a handle.
    package static func caller(of handle: ObjectPath) -> BusName? {
        let parts = handle.rawValue.dropFirst(requests.rawValue.count).split(separator: "/")
        guard handle.rawValue.hasPrefix("\(requests)/"), parts.count >= 2 else { return nil }
        return BusName(":\(parts[0].replacing("_", with: "."))")
    }

    /// The permission store.
    package static let permissionStore = RemoteObject(
        "org.freedesktop.impl.portal.PermissionStore",
        "/org/freedesktop/impl/portal/PermissionStore"
    )
    private static let permissionInterface: InterfaceName = "org.freedesktop.impl.portal.PermissionStore"
    /// The table with the applications that were chosen, by type.
    package static let table = "desktop-used-apps"
    /// Returns the types in a table.
    package static let list = Method<String, [String]>(permissionInterface, "List")
    /// Returns the applications chosen for a type, by caller, and other data about the type.
    package static let lookup = Method<Arguments<String, String>, Arguments<[String: [String]], Value>>(
        permissionInterface,
        "Lookup"
    )
    /// Sets the data about a type. The third argument says whether to make the table if there is none.
    package static let setValue = Method<Arguments<String, Bool, String, Value>, Empty>(permissionInterface, "SetValue")
}
