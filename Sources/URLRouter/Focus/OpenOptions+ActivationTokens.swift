internal import OpenURLBus

extension OpenOptions {
    /// Variables that pass the focus tokens to a new process, for both Wayland and X11.
    var tokenVariables: [String: String] {
        var variables: [String: String] = [:]
        variables["XDG_ACTIVATION_TOKEN"] = activationToken
        variables["DESKTOP_STARTUP_ID"] = desktopStartupID
        return variables
    }
}
