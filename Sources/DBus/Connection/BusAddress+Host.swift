extension BusAddress {
    /// The session bus of a user on another machine, as `systemctl --host` reaches it.
    ///
    /// ssh starts `systemd-stdio-bridge` there, which passes the messages on. The other machine needs both, and nothing else: the
    /// keys, the names of hosts and the permissions are those of ssh. Descriptors do not pass.
    ///
    /// - Parameters:
    ///   - host: The machine as ssh takes it: `HOST` or `USER@HOST`.
    ///   - asks: Whether ssh may ask the person at the terminal, for a password or about an unknown host.
    /// - Returns: Nil if the name is empty, or begins with `-` and would be an option of ssh.
    public static func host(_ host: String, asks: Bool = false) -> BusAddress? {
        guard !host.isEmpty, !host.hasPrefix("-"), !host.utf8.contains(0) else { return nil }
        let arguments = ["-xT"] + (asks ? [] : ["-oBatchMode=yes"]) + ["--", host, "sh -c '\(bridge)'"]
        let values = arguments.enumerated().map { ",argv\($0.offset + 1)=\(escaped($0.element))" }
        return .address("unixexec:path=ssh\(values.joined())")
    }

    /// The command on the other machine. Its exit status is 127 without a bridge.
    ///
    /// The command names the bus, because the option `--user` of the bridge in systemd 252 means the bus of the system.
    private static let bridge = """
        command -v systemd-stdio-bridge >/dev/null || exit 127; \
        bus=unix:path=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}/bus; \
        exec systemd-stdio-bridge --bus-path="${DBUS_SESSION_BUS_ADDRESS:-$bus}"
        """
}
