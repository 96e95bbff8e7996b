/// The bus itself, as `org.freedesktop.DBus` ("Message Bus Messages" in the D-Bus specification): the members that programs here use.
package enum BusDriver {
    /// The bus, for a caller.
    package static let object = RemoteObject(.bus, "/org/freedesktop/DBus")
    /// The name of the interface.
    package static let interface: InterfaceName = "org.freedesktop.DBus"

    static let hello = Method<Empty, String>(interface, "Hello")
    static let requestName = Method<Arguments<String, UInt32>, UInt32>(interface, "RequestName")
    static let releaseName = Method<String, UInt32>(interface, "ReleaseName")
    /// Returns the unique name of a name's owner.
    package static let getNameOwner = Method<String, String>(interface, "GetNameOwner")
    /// Returns all names that have an owner, unique names included.
    package static let listNames = Method<Empty, [String]>(interface, "ListNames")
    /// Returns the names for which the bus can start a program.
    package static let listActivatableNames = Method<Empty, [String]>(interface, "ListActivatableNames")
    /// Makes the bus read its configuration and its service files again.
    package static let reloadConfig = Method<Empty, Empty>(interface, "ReloadConfig")
    /// Starts the program of a name. The flags are 0.
    package static let startService = Method<Arguments<String, UInt32>, UInt32>(interface, "StartServiceByName")
    /// Returns the number of the process that owns a name.
    package static let processID = Method<String, UInt32>(interface, "GetConnectionUnixProcessID")
    /// Gives variables to the programs that the bus starts from now on.
    package static let updateActivationEnvironment = Method<[String: String], Empty>(
        interface,
        "UpdateActivationEnvironment"
    )
    static let getCredentials = Method<String, [String: Value]>(interface, "GetConnectionCredentials")
    /// The bus of the D-Bus project has this method if it was built with statistics, as the distributions do.
    static let getStatistics = Method<String, [String: Value]>("org.freedesktop.DBus.Debug.Stats", "GetConnectionStats")
    static let addMatch = Method<String, Empty>(interface, "AddMatch")
    static let removeMatch = Method<String, Empty>(interface, "RemoveMatch")

    /// The corresponding C constant is `DBUS_NAME_FLAG_DO_NOT_QUEUE`.
    static let doNotQueue: UInt32 = 4
    static let nameOwnerChanged = Signal<Arguments<String, String, String>>(
        interface,
        "NameOwnerChanged",
        arguments: ["name", "old_owner", "new_owner"]
    )

    /// Returns the change of a name's owner that a signal reports; nil for any other signal.
    static func ownerChange(_ signal: Message) -> (name: BusName, old: BusName?, new: BusName?)? {
        guard signal.isSignal(nameOwnerChanged), signal.sender == .bus else { return nil }
        do throws(MessageDecodingError) {
            let change: Arguments<String, String, String> = try signal.contents(limit: 4096)
            return BusName(change.values.0).map { ($0, BusName(change.values.1), BusName(change.values.2)) }
        } catch {
            // Only the bus can have sent the signal, and the bus sends no other signal with this name.
            return nil
        }
    }

    /// The rule for the beginning and the end of any connection. It also applies to the other changes of names' owners.
    static let connectionRule = MatchRule(sender: .bus).text(nameOwnerChanged.interface, nameOwnerChanged.name)

    static func ownerRule(_ name: BusName) -> String {
        MatchRule(sender: .bus, arguments: [0: name.rawValue]).text(nameOwnerChanged.interface, nameOwnerChanged.name)
    }
}
