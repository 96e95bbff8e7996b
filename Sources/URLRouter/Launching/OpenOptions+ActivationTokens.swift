internal import OpenURLBus

extension OpenOptions {
    /// Maximum length of a token, in bytes. The kernel starts no process that has a variable of more than 128 KiB.
    private static let tokenLimit = 4096

    /// Variables that pass the focus tokens to a new process, for both Wayland and X11.
    ///
    /// Tokens that are too long are left out, because the process may also serve other senders' URLs.
    var tokenVariables: [String: String] {
        var variables: [String: String] = [:]
        variables["XDG_ACTIVATION_TOKEN"] = activationToken
        variables["DESKTOP_STARTUP_ID"] = desktopStartupID
        return variables.filter { $0.value.utf8.count <= Self.tokenLimit }
    }
}
