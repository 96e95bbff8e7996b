/// The bus itself, as `org.freedesktop.DBus` ("Message Bus Messages" in the D-Bus specification), with only the members
/// used here.
package enum BusDriver {
    /// The bus, as the destination of a call.
    package static let object = RemoteObject(.bus, "/org/freedesktop/DBus")
    /// The name of the interface.
    package static let interface: InterfaceName = "org.freedesktop.DBus"

    static let hello = Method<Empty, String>(interface, "Hello")
    static let requestName = Method<Arguments<String, UInt32>, UInt32>(interface, "RequestName")
    static let releaseName = Method<String, UInt32>(interface, "ReleaseName")
    /// Returns the unique name of a name's owner.
    package static let getNameOwner = Method<String, String>(interface, "GetNameOwner")
    /// Returns all names that have an owner, including unique names.
    package static let listNames = Method<Empty, [String]>(interface, "ListNames")
    /// Returns the names for which the bus can start a program.
    package static let listActivatableNames = Method<Empty, [String]>(interface, "ListActivatableNames")
    /// Makes the bus read its configuration and its service files again.
    package static let reloadConfig = Method<Empty, Empty>(interface, "ReloadConfig")
    /// Starts a name's program. The flags are 0.
    package static let startService = Method<Arguments<String, UInt32>, UInt32>(interface, "StartServiceByName")
    /// Returns the number of the process that owns a name.
    package static let processID = Method<String, UInt32>(interface, "GetConnectionUnixProcessID")
    /// Sets variables for the programs that the bus starts from now on.
    package static let updateActivationEnvironment = Method<[String: String], Empty>(
        interface,
        "UpdateActivationEnvironment"
    )
    static let getCredentials = Method<String, [String: Value]>(interface, "GetConnectionCredentials")
    /// A method that the D-Bus project's bus has if it was built with statistics, as it is in distributions.
    static let getStatistics = Method<String, [String: Value]>("org.freedesktop.DBus.Debug.Stats", "GetConnectionStats")
    static let addMatch = Method<String, Empty>(interface, "AddMatch")
    static let removeMatch = Method<String, Empty>(interface, "RemoveMatch")

    /// `DBUS_NAME_FLAG_DO_NOT_QUEUE` in C.
    static let doNotQueue: UInt32 = 4
    static let nameOwnerChanged = Signal<Arguments<String, String, String>>(
        interface,
        "NameOwnerChanged",
        arguments: ["name", "old_owner", "new_owner"]
    )

    /// Reads the change of owner that a signal reports; nil for any other signal. Without a bus, no message has the bus
    /// as its sender.
    static func ownerChange(_ signal: Message) -> (name: BusName, old: BusName?, new: BusName?)? {
        guard signal.isSignal(nameOwnerChanged), signal.sender == .bus else { return nil }
        do throws(MessageDecodingError) {
            let change: Arguments<String, String, String> = try signal.contents(limit: 4096)
            return BusName(change.values.0).map { ($0, BusName(change.values.1), BusName(change.values.2)) }
        } catch {
            // Only the bus can have sent it, and it has no other signal with this name.
            return nil
        }
    }

    /// A rule that matches the beginning and the end of any connection, and also every other change of a name's owner.
    static let connectionRule = MatchRule(sender: .bus).text(nameOwnerChanged.interface, nameOwnerChanged.name)

    static func ownerRule(_ name: BusName) -> String {
        MatchRule(sender: .bus, arguments: [0: name.rawValue]).text(nameOwnerChanged.interface, nameOwnerChanged.name)
    }
}
