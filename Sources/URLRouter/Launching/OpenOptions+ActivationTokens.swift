internal import OpenURLBus

extension OpenOptions {
    /// The longest token, in bytes. The kernel starts no process with a variable of more than 128 KiB.
    private static let tokenLimit = 4096

    /// The variables that hand the tokens of the focus to a new process: the way of Wayland, and the way of X11.
    ///
    /// A token that is too long is left out. The process may be for the URLs of other senders, too.
    var tokenVariables: [String: String] {
        var variables: [String: String] = [:]
        variables["XDG_ACTIVATION_TOKEN"] = activationToken
        variables["DESKTOP_STARTUP_ID"] = desktopStartupID
        return variables.filter { $0.value.utf8.count <= Self.tokenLimit }
    }
}
