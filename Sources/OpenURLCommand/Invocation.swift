internal import DBus
internal import Glibc

/// One run of the `openurl` command: the arguments, and everything outside the command that a run reads and writes.
public struct Invocation {
    /// The arguments after the program's name.
    var arguments: [CommandLineArgument]
    /// The value of an environment variable; nil if the variable is unset, empty, or not UTF-8.
    var environment: (String) -> String?
    /// The descriptor of standard input.
    var input: CInt
    var output: StandardOutput
    var errors: StandardError
    /// The bus that the router is on.
    var bus: BusAddress
    /// The machine of the bus; nil for this machine.
    var host: RemoteHost?
    /// Takes Ctrl-C over; nil where Ctrl-C keeps its usual meaning.
    var makeInterrupt: () -> Interrupt? = { nil }

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

    /// Performs the command that the arguments name.
    ///
    /// A command line of URLs alone does not go through the parser of options, which would make such a run a third longer.
    ///
    /// - Returns: the exit status.
    public func run() -> Int32 {
        var invocation = self
        do throws(CommandFailure) {
            try invocation.takeHost()
        } catch {
            errors.print(error)
            return error.exitStatus
        }
        let status =
            if let operation = OpenOperation(plain: invocation.arguments) {
                operation.perform(invocation)
            } else {
                CommandLineInterface.run(invocation)
            }
        return output.finish(status, errors)
    }
}
