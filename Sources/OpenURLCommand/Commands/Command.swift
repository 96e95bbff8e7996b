internal import ArgumentParser
internal import URLOpener

/// A command with the values that the parser has read.
protocol Command: ParsableCommand {
    /// Performs the command.
    ///
    /// - Returns: the exit status.
    /// - Throws: the failure of the command as a whole. The command itself reports the failure of a single item.
    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32
}

/// The option that the commands with output share.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, one object per line.")
    var json = false
}
