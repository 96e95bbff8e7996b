internal import DBus
internal import Glibc
internal import OpenURLBus
internal import UserFiles

/// The environment of a handler's process, as far as the library uses it.
struct HandlerEnvironment {
    /// The unique name of the router that has started the process; nil if another program has.
    let launcher: String?
    /// The programs that may send URLs.
    let reach: HandlerReach
    let directories: HandlerDirectories
    /// The file for the handler's state; nil if there is no home directory.
    let stateFile: SavedStateLocation?

    init(of identifier: BusName, _ variables: [String: String]) {
        launcher = variables[HandlerInterface.launchVariable]
        reach = variables[HandlerInterface.reachVariable].flatMap(HandlerReach.init(rawValue:)) ?? .everyone
        directories = HandlerDirectories(of: identifier.rawValue, environment: variables)
        stateFile = SavedStateLocation(ofHandler: identifier.rawValue, environment: variables)
    }

    /// Reads the process's environment, and removes what the programs that the handler starts must not inherit: the router
    /// did not start these programs, and a focus token is for one window. The handler still gets the tokens in the router's
    /// messages.
    static func take(of identifier: BusName) -> HandlerEnvironment {
        var variables: [String: String] = [:]
        for name in HandlerInterface.variables + ["XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME"] {
            variables[name] = unsafe getenv(name).map { unsafe String(cString: $0) }
        }
        for name in HandlerInterface.variables + ["XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID"] {
            unsafe unsetenv(name)
        }
        return HandlerEnvironment(of: identifier, variables)
    }
}
