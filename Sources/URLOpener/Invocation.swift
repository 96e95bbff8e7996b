package import DBus
internal import Glibc
internal import Release

/// One run of the `openurl` command: its arguments, and everything else that it reads and writes.
public struct Invocation {
    /// The name by which the program was called, without its directory.
    package var name = "openurl"
    /// The arguments after the program's name.
    package var arguments: [CommandLineArgument]
    /// Returns the value of an environment variable; nil if it is unset, empty, or not UTF-8.
    package var environment: (String) -> String?
    /// The descriptor of standard input.
    package var input: CInt
    package var output: StandardOutput
    package var errors: StandardError
    /// The bus on which to find the router.
    package var bus: BusAddress
    /// The machine that the bus is on; nil for this machine.
    package var host: RemoteHost?
    /// Takes over Ctrl-C; returns nil if Ctrl-C keeps its usual meaning.
    package var makeInterrupt: () -> Interrupt? = { nil }

    /// The run for which this process was started.
    public static var ofProcess: Invocation {
        let name = CommandLineArgument.calledName
        return Invocation(
            name: name,
            arguments: CommandLineArgument.all,
            environment: { name in
                guard let value = getenv(name), value.pointee != 0 else { return nil }
                return String(validatingCString: value)
            },
            input: STDIN_FILENO,
            output: StandardOutput(),
            errors: StandardError(program: name == XDGOpen.name ? name : "openurl"),
            bus: .session,
            makeInterrupt: Interrupt.init
        )
    }

    /// The line that names the version of the command.
    package static var version: String { "openurl \(Version.current)" }

    /// Performs a command line that needs no option parser: only URLs, or only `--version`, or that of `xdg-open`.
    ///
    /// - Returns: the exit status; nil for any other command line, for which this does nothing.
    package func performPlainly() -> Int32? {
        if name == XDGOpen.name { return output.finish(XDGOpen(arguments: arguments).perform(self), errors) }
        if arguments == [.text("--version")] {
            output.print(Self.version)
            return output.finish(0, errors)
        }
        guard let operation = OpenOperation(plain: arguments) else { return nil }
        return output.finish(operation.perform(self), errors)
    }
}
