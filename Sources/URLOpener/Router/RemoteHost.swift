package import DBus
internal import Glibc
internal import OpenURLBus
internal import Translations

/// Another machine whose router performs a command (`--host`).
package struct RemoteHost: Sendable {
    /// `HOST` or `USER@HOST`, in the form that ssh accepts.
    package let name: String
    package let bus: BusAddress
    /// The arguments of the command for the other machine's `openurl`.
    package let arguments: [CommandLineArgument]

    /// Variables that belong to this machine's desktop.
    package static let localVariables: Set = ["DISPLAY", "DESKTOP_STARTUP_ID", "XDG_ACTIVATION_TOKEN"]

    /// - Throws: a failure if this cannot be a host's name.
    package init(_ name: String?, _ arguments: [CommandLineArgument]) throws(CommandFailure) {
        let asks = isatty(STDIN_FILENO) != 0
        guard let name, let bus = BusAddress.host(name, asks: asks) else {
            let reason = translated("--host needs the name of a host, such as box or alice@box")
            throw CommandFailure(.invalidArguments, reason, exitStatus: ExitStatus.usage)
        }
        self.name = name
        self.bus = bus
        self.arguments = arguments
    }

    /// How long ssh may take to reach the host, including the time for the user to type a password.
    package static let connectionTime = Duration.seconds(120)

    /// Returns the failure of a connection. If ssh failed, it has printed the reason.
    ///
    /// If the host has no `systemd-stdio-bridge`, this process becomes an ssh that runs `openurl` there, and the method
    /// does not return.
    package func failure(_ error: ConnectionError) -> CommandFailure {
        let unreachable = translated("the session bus of \(name) cannot be reached")
        guard error != .timedOut else { return failure(translated("\(unreachable): no answer came in time")) }
        // The connection ends when ssh does. The command has no other children.
        var status: CInt = 0
        guard waitpid(-1, &status, 0) > 0 else { return failure("\(unreachable): \(error)") }
        let exited = status & 0x7f == 0
        let code = (status >> 8) & 0xff
        guard exited, code == Self.notFound else {
            // If ssh failed, it has printed its own reason. Other statuses come from the bridge.
            let reason =
                !exited
                ? translated("ssh was killed")
                : code == Self.sshFailed
                    ? translated("ssh ended with status \(code)")
                    : translated("no bus answers there; 'loginctl enable-linger' on \(name) keeps one without a login")
            return failure("\(unreachable): \(reason)")
        }
        return failure(translated("'openurl' cannot be run on \(name): \(runThere())"))
    }

    /// The exit status of a shell that does not find a program.
    private static let notFound: CInt = 127
    /// ssh's exit status after an error of its own.
    private static let sshFailed: CInt = 255

    private func failure(_ message: String) -> CommandFailure {
        CommandFailure("org.freedesktop.DBus.Error.NoServer", message, exitStatus: ExitStatus.unavailable)
    }

    /// Replaces this process's program with an ssh that runs the same command on the host.
    ///
    /// - Returns: why that is not possible.
    private func runThere() -> String {
        // The login shell there is unknown. Quoting works the same way in all shells only without these characters.
        guard
            !arguments.contains(where: { $0.bytes.contains { [UInt8(ascii: "\\"), UInt8(ascii: "\n")].contains($0) } })
        else {
            return translated(
                "the host has no systemd-stdio-bridge, so arguments cannot have a backslash or a line break"
            )
        }
        let quote = UInt8(ascii: "'")
        var line = Array("openurl".utf8)
        for argument in arguments {
            line += [UInt8(ascii: " "), quote]
            for byte in argument.bytes { line += byte == quote ? Array("'\\''".utf8) : [byte] }
            line.append(quote)
        }
        let words = ["ssh", "-xT", "--", name].map { Array($0.utf8) } + [line]
        var pointers = words.map { word in strdup(word.map(CChar.init(bitPattern:)) + [0]) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        execvp("ssh", &pointers)
        return systemErrorText(errno)
    }
}

extension Invocation {
    /// Checks that an argument means the same on the other machine, if there is one.
    package func checkMeaningThere(_ argument: CommandLineArgument) throws(CommandFailure) {
        guard let host, !argument.hasScheme else { return }
        let reason = translated("'\(argument.shown)' is a file on this machine; give a URL that \(host.name) can open")
        throw CommandFailure(.invalidArguments, reason, exitStatus: ExitStatus.usage)
    }
}
