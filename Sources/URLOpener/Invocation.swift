package import DBus
internal import Glibc

/// One run of the `openurl` command: the arguments, and everything outside the command that a run reads and writes.
public struct Invocation {
    /// The arguments after the program's name.
    package var arguments: [CommandLineArgument]
    /// The value of an environment variable; nil if the variable is unset, empty, or not UTF-8.
    package var environment: (String) -> String?
    /// The descriptor of standard input.
    package var input: CInt
    package var output: StandardOutput
    package var errors: StandardError
    /// The bus that the router is on.
    package var bus: BusAddress
    /// The machine of the bus; nil for this machine.
    package var host: RemoteHost?
    /// Takes Ctrl-C over; nil where Ctrl-C keeps its usual meaning.
    package var makeInterrupt: () -> Interrupt? = { nil }

    /// The run that this process was started for.
    public static var ofProcess: Invocation {
        Invocation(
            arguments: CommandLineArgument.all,
            environment: { name in
                guard let value = getenv(name), value.pointee != 0 else { return nil }
                return String(validatingCString: value)
            },
            input: STDIN_FILENO,
            output: StandardOutput(),
            errors: StandardError(),
            bus: .session,
            makeInterrupt: Interrupt.init
        )
    }

    /// Opens the URLs of a command line of URLs alone.
    ///
    /// - Returns: the exit status; nil for any other command line, of which nothing is performed.
    package func openURLs() -> Int32? {
        guard let operation = OpenOperation(plain: arguments) else { return nil }
        return output.finish(operation.perform(self), errors)
    }
}
