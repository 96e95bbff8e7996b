internal import ArgumentParser
internal import Translations
internal import URLOpener

/// A command with the values that the parser has read.
protocol Command: ParsableCommand {
    /// Performs the command.
    ///
    /// - Returns: the exit status.
    /// - Throws: a failure of the command as a whole. If only one item fails, the command reports that itself.
    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32
}

/// The option that all commands with JSON output share.
struct OutputOptions: ParsableArguments {
    @Flag(help: .init(translated("Print JSON, one object per line.")))
    var json = false
}

/// The options of a command that prints a table.
struct TableOptions: ParsableArguments {
    @Flag(help: .init(translated("On a terminal, show every column and cell in full.")))
    var wide = false

    @OptionGroup var outputOptions: OutputOptions

    var json: Bool { outputOptions.json }
}
