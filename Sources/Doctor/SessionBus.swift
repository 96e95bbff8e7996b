internal import DBus
internal import OpenURLBus
internal import Translations

/// The session bus, with a time limit for every call.
struct SessionBus {
    let address: BusAddress
    let connection: BlockingConnection
    /// The names for which the bus can start a program.
    let activatableNames: Set<String>
    /// Why the router could not be started; nil if there was no failure.
    private(set) var startFailure: CallError?

    /// The time limit for a call that does not start a program.
    static let callLimit = Duration.seconds(5)
    /// The time limit for a start.
    private static let startLimit = Duration.seconds(20)

    init(_ address: BusAddress = .session) throws(ConnectionError) {
        self.address = address
        connection = try BlockingConnection(address, timeout: Self.callLimit)
        do throws(CallError) {
            let names = try connection.call(
                BusDriver.listActivatableNames,
                on: BusDriver.object,
                Empty(),
                timeout: Self.callLimit
            )
            activatableNames = Set(names)
        } catch {
            throw .timedOut
        }
    }

    /// Returns the unique name of the owner of a name; nil if it has no owner.
    func owner(of name: BusName) -> String? {
        do throws(CallError) {
            return try call(BusDriver.getNameOwner, on: BusDriver.object, name.rawValue)
        } catch {
            return nil
        }
    }

    /// Returns the process that owns a name; nil if there is none.
    func pid(of name: String) -> UInt32? {
        do throws(CallError) {
            return try call(BusDriver.processID, on: BusDriver.object, name)
        } catch {
            return nil
        }
    }

    /// Starts the router if none is running, and returns when it has published the handlers.
    mutating func startRouter() {
        guard owner(of: RouterService.name) == nil, activatableNames.contains(RouterService.name.rawValue) else {
            return
        }
        do throws(CallError) {
            let input = Arguments(RouterService.name.rawValue, UInt32(0))
            _ = try connection.call(BusDriver.startService, on: BusDriver.object, input, timeout: Self.startLimit)
            try call(RegistryInterface.reload, on: RouterService.object, Empty())
        } catch {
            startFailure = error
        }
    }

    /// Returns the well-known names that have an owner.
    func names() throws(CallError) -> [String] {
        try call(BusDriver.listNames, on: BusDriver.object, Empty()).filter { !$0.hasPrefix(":") }
    }

    @discardableResult
    func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        on object: RemoteObject,
        _ input: Input
    ) throws(CallError) -> Output {
        try connection.call(method, on: object, input, timeout: Self.callLimit)
    }

    func property(_ interface: String, _ name: String, of object: RemoteObject) throws(CallError) -> Value {
        try call(PropertiesInterface.get, on: object, Arguments(interface, name))
    }

    /// Passes variables to the programs that the bus and systemd start from now on.
    func setEnvironment(_ variables: [String: String], andOf manager: RemoteObject?) throws(CallError) {
        try call(BusDriver.updateActivationEnvironment, on: BusDriver.object, variables)
        guard let manager else { return }
        try call(SystemdManager.setEnvironment, on: manager, variables.map { "\($0.key)=\($0.value)" })
    }

    /// Makes the bus read its service files again.
    func reloadServices() throws(CallError) {
        try call(BusDriver.reloadConfig, on: BusDriver.object, Empty())
    }

    /// Returns whether a name has an owner, or the bus can start one.
    func isAvailable(_ name: BusName) -> Bool {
        activatableNames.contains(name.rawValue) || owner(of: name) != nil
    }
}

/// The portal's memory of the user's choices.
enum PermissionStore {
    static let name: BusName = "org.freedesktop.impl.portal.PermissionStore"
    static let object = RemoteObject(name, "/org/freedesktop/impl/portal/PermissionStore")
    static let table = "desktop-used-apps"
    /// Returns the permissions of each application, and the data of the entry.
    static let lookup = Method<Arguments<String, String>, Arguments<[String: [String]], Value>>(
        "org.freedesktop.impl.portal.PermissionStore",
        "Lookup"
    )
}

/// The portal through which programs in a sandbox open URLs.
///
/// xdg-desktop-portal has `OpenURI` only if a backend can show its dialogs.
enum Portal {
    static let reasonWithoutBackend =
        translated(
            """
            has no backend, so no program in a sandbox can open a URL; install the backend of the desktop, such as \
            xdg-desktop-portal-gtk, and log in again
            """
        )
    static let name: BusName = "org.freedesktop.portal.Desktop"
    static let object = RemoteObject(name, "/org/freedesktop/portal/desktop")
    static let openURI = Method<Arguments<String, String, [String: Value]>, ObjectPath>(
        "org.freedesktop.portal.OpenURI",
        "OpenURI"
    )
}
