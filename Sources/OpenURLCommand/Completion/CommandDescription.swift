internal import ArgumentParser
internal import FoundationEssentials

/// A command with its options and arguments, as the parser describes it.
struct CommandDescription: Decodable {
    struct Argument: Decodable {
        enum Kind: String, Decodable {
            case positional, option, flag
        }

        struct Name: Decodable {
            let kind: String
            let name: String
        }

        /// The kind of values that the parser completes. In the parser's description, the key that is present shows the
        /// kind.
        struct Completion: Decodable {
            struct Ignored: Decodable {}

            struct List: Decodable {
                let values: [String]
            }

            let list: List?
            let custom: Ignored?
            let file: Ignored?
            let directory: Ignored?
        }

        let kind: Kind
        let shouldDisplay: Bool
        let isRepeating: Bool
        let parsingStrategy: String
        let names: [Name]?
        let completionKind: Completion?
        let abstract: String?

        /// The names as the user types them.
        var options: [String] { (names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name } }
        /// Whether every word up to the next option is a value of this option.
        var takesManyValues: Bool { parsingStrategy == "upToNextOption" }
        /// Whether every further word is a value of this argument, even if it looks like an option.
        var takesTheRest: Bool { parsingStrategy == "allRemainingInput" }
        /// Whether the argument comes after `--`.
        var isAfterTerminator: Bool { parsingStrategy == "postTerminator" }
    }

    private struct Tool: Decodable {
        let command: CommandDescription
    }

    let commandName: String
    let aliases: [String]?
    let abstract: String?
    let shouldDisplay: Bool?
    let defaultSubcommand: String?
    let subcommands: [CommandDescription]?
    let arguments: [Argument]?

    /// Returns the description of the whole command line.
    static func ofWholeProgram() throws -> CommandDescription {
        try JSONDecoder().decode(Tool.self, from: Data(CommandLineInterface._dumpHelp().utf8)).command
    }

    /// The arguments that are not options, in order.
    var positionals: [Argument] { (arguments ?? []).filter { $0.kind == .positional } }

    func subcommand(_ name: String) -> CommandDescription? {
        subcommands?.first { $0.commandName == name || $0.aliases?.contains(name) == true }
    }

    func option(_ name: String) -> Argument? {
        arguments?.first { $0.kind != .positional && $0.options.contains(name) }
    }
}
