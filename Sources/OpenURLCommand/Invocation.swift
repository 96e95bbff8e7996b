/// One run of the `openurl` command.
public struct Invocation {
    /// The arguments after the program's name.
    let arguments: [CommandLineArgument]

    /// The run that this process was started for.
    public static var ofProcess: Invocation { Invocation(arguments: CommandLineArgument.all) }

    /// Does what the arguments say.
    ///
    /// A command line of URLs alone does not reach the parser of options, which would take longer than everything else
    /// that such a run does.
    ///
    /// - Returns: the exit status.
    public func run() -> Int32 {
        let output = StandardOutput()
        let status =
            if let request = OpenRequest(plain: arguments) {
                request.perform(output)
            } else {
                CommandLineInterface.run(arguments, output)
            }
        return output.finish(status)
    }
}
