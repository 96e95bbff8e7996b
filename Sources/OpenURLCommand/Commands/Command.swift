internal import ArgumentParser

/// A command as the parser has filled it in.
protocol Command: ParsableCommand {
    /// Does what the command is for.
    ///
    /// - Returns: the exit status.
    /// - Throws: what made all of it impossible; what concerns one of several things is told by the command itself.
    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32
}

/// The option of every command that prints something.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, one object a line.")
    var json = false
}
