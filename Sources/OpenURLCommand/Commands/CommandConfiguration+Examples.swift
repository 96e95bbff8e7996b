internal import ArgumentParser
internal import Translations

extension CommandConfiguration {
    /// Creates the configuration for a command whose help has examples.
    ///
    /// - Parameter examples: complete command lines.
    init(
        commandName: String,
        abstract: String,
        discussion: String = "",
        examples: [String],
        subcommands: [any ParsableCommand.Type] = [],
        defaultSubcommand: (any ParsableCommand.Type)? = nil,
        aliases: [String] = []
    ) {
        let list = ([translated("EXAMPLES")] + examples.map { "  \($0)" }).joined(separator: "\n")
        self.init(
            commandName: commandName,
            abstract: abstract,
            discussion: discussion.isEmpty ? list : "\(discussion)\n\n\(list)",
            subcommands: subcommands,
            defaultSubcommand: defaultSubcommand,
            aliases: aliases
        )
    }
}
