extension BusAddress {
    /// The session bus of a user on another machine, as `systemctl --host` reaches it.
    ///
    /// ssh starts `systemd-stdio-bridge` there, which passes the messages on. Nothing else is needed, because ssh takes
    /// care of keys, host names and permissions. File descriptors cannot be passed.
    ///
    /// - Parameters:
    ///   - host: The machine in the form that ssh accepts: `HOST` or `USER@HOST`.
    ///   - asks: Whether ssh may ask the user at the terminal, for a password or about an unknown host.
    /// - Returns: Nil if the name is empty, or begins with `-` and would be taken for one of ssh's options.
    public static func host(_ host: String, asks: Bool = false) -> BusAddress? {
        guard !host.isEmpty, !host.hasPrefix("-"), !host.utf8.contains(0) else { return nil }
        let arguments = ["-xT"] + (asks ? [] : ["-oBatchMode=yes"]) + ["--", host, "sh -c '\(bridge)'"]
        let values = arguments.enumerated().map { ",argv\($0.offset + 1)=\(escaped($0.element))" }
        return .address("unixexec:path=ssh\(values.joined())")
    }

    /// The command to run on the other machine. It exits with status 127 if there is no bridge.
    ///
    /// It gives the bus's address itself, because the bridge in systemd 252 takes `--user` to mean the system bus.
    private static let bridge = """
        command -v systemd-stdio-bridge >/dev/null || exit 127; \
        bus=unix:path=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}/bus; \
        exec systemd-stdio-bridge --bus-path="${DBUS_SESSION_BUS_ADDRESS:-$bus}"
        """
}
