internal import ArgumentParser
internal import OpenURLBus
internal import Spelling
internal import Translations
internal import URLOpener

/// The whole command line, as swift-argument-parser reads it.
struct CommandLineInterface: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "openurl",
        abstract: translated("Open URLs and files with the programs that handle them."),
        usage: """
            openurl [open] [<options>] <url or file> ...
            openurl <command> [<options>] ...
            openurl --host [<user>@]<host> <command> ...
            """,
        discussion: translated(
            """
            The router, openurld, starts or wakes the handler of the URL's scheme or the file's type, delivers the URL, and reports the outcome.

            EXAMPLES
              openurl 'todolist://www.acme.com?Quarterly%20Report#200806231300'
              openurl explain https://example.com/

            EXIT STATUS
              0  done                            6  a time limit ran out
              1  the handler declined the URL    7  not allowed
              2  the launch was vetoed           8  a limit was exceeded
              3  nothing handles the scheme      9  handlers open each other in a loop
              4  the handler cannot be started  10  the URL cannot be stored (--queue)
              5  the handler crashed            11  the request was cancelled
                                                12  another program already has the claim
                                                13  the handler's answer has the wrong type
                                                64  the command line is wrong
                                                65  the URL or the manifest is malformed
                                                66  there is no such file
                                                69  no session bus, or no router on it
                                                74  standard input or output failed
            """
        ),
        version: Invocation.version,
        groupedSubcommands: [
            CommandGroup(
                name: translated("Open URLs"),
                subcommands: [
                    Open.self, Call.self, Callback.self, Send.self, Queue.self, Notifications.self, Hosts.self,
                    Receive.self,
                ]
            ),
            CommandGroup(
                name: translated("Other machines and containers"),
                subcommands: [SSH.self, Share.self]
            ),
            CommandGroup(
                name: translated("Handlers"),
                subcommands: [
                    New.self, Check.self, Run.self, Register.self, Unregister.self, Reload.self, List.self,
                    Default.self, Intents.self,
                ]
            ),
            CommandGroup(
                name: translated("Running handlers"),
                subcommands: [
                    Status.self, Output.self, Activate.self, InterruptHandler.self, Resume.self, Background.self,
                    Suspend.self, Terminate.self, Restart.self, Tasks.self,
                ]
            ),
            CommandGroup(name: translated("Rules"), subcommands: [Policy.self, Permissions.self, Links.self]),
            CommandGroup(
                name: translated("Look"),
                subcommands: [CanOpen.self, Explain.self, Parse.self, Monitor.self, Log.self, Doctor.self]
            ),
            CommandGroup(name: translated("Installation"), subcommands: [Publish.self, ShowVersion.self]),
        ]
    )

    /// Performs the command that an invocation's arguments specify.
    ///
    /// If the first argument is neither a command's name nor an option for the program as a whole, the command is
    /// `open`.
    ///
    /// - Returns: the exit status.
    static func run(_ invocation: Invocation) -> Int32 {
        var arguments = invocation.arguments.map(\.parserArgument)
        guard let first = arguments.first else {
            return invocation.usageError(
                translated("usage: openurl [open] <url> ..., or openurl <command> ..."),
                "openurl --help"
            )
        }
        if first == Completions.command {
            for line in Completions(of: Array(arguments.dropFirst())).lines { invocation.output.print(line) }
            return 0
        }
        if let script = CompletionScript(requestedBy: arguments) { return script.print(invocation) }
        if first == "help" {
            let (path, names) = commandPath(arguments.dropFirst())
            let index = path.count + 1
            // After a command, the parser knows the options of 'help'.
            if index < arguments.count, path.isEmpty || !invocation.arguments[index].isOption {
                return invocation.usageError(
                    asking(
                        whether: arguments[index].nearest(in: names),
                        translated("'\(invocation.arguments[index].shown)' is not a command")
                    ),
                    helpCommand(for: path)
                )
            }
        }
        if !isRootArgument(first) {
            let argument = invocation.arguments[0]
            guard
                argument.bytes.first == UInt8(ascii: "-") || argument.hasColon
                    // No command's name contains a dot, so this must be the name of a file.
                    || argument.bytes.contains(UInt8(ascii: ".")) || argument.isPath || argument.namesFile
            else {
                let word = argument.shown
                let problem = translated("'\(word)' is neither a command, nor a URL with a ':', nor a file")
                let near = nearestCommand(to: word)
                let url = near == nil ? CommandFailure.missingColon(word) : nil
                let reason =
                    url.map { translated("\(problem); to open a URL, write '\($0)'") } ?? asking(whether: near, problem)
                return invocation.usageError(reason, "openurl --help")
            }
            arguments.insert(Open.name, at: 0)
        }
        do {
            var command = try parsed(arguments)
            // An option in front of a command makes the command's name an argument of `open`.
            if !isRootArgument(first), let open = command as? Open, let word = open.urls.first, isCommand(word.shown),
                !word.namesFile
            {
                let name = word.shown
                return invocation.usageError(
                    translated("'\(name)' is a command, and comes before its options; write 'openurl \(name) …'"),
                    "openurl \(name) --help"
                )
            }
            guard let command = command as? any Command else {
                try command.run()
                return 0
            }
            do throws(CommandFailure) {
                return try command.perform(invocation)
            } catch {
                invocation.errors.print(error)
                return error.exitStatus
            }
        } catch {
            guard exitCode(for: error) == .success else {
                let (path, names) = commandPath(arguments)
                let word = path.isEmpty ? nil : arguments.dropFirst(path.count).first
                let problem =
                    CommandDescription.unknownOption(in: invocation.arguments.map(\.parserArgument))
                    ?? asking(whether: word?.nearest(in: names), message(for: error))
                return invocation.usageError(problem.showingArguments, helpCommand(for: path))
            }
            // The parser also reports a request for help or for the version as an error.
            invocation.output.print(arrangedHelp(fullMessage(for: error)))
            return 0
        }
    }

    /// Parses a command line. The parser takes a value that begins with a dash for an option, so if it fails, each of
    /// these values is joined to its option.
    private static func parsed(_ arguments: [String]) throws -> any ParsableCommand {
        do {
            return try parseAsRoot(arguments)
        } catch {
            // The parser also reports a request for help as an error.
            guard exitCode(for: error) != .success else { throw error }
            let joined = CommandDescription.joiningValues(in: arguments)
            guard joined != arguments else { throw error }
            return try parseAsRoot(joined)
        }
    }

    /// Wraps the usage lines of a help text at 80 columns, shortens the titles of groups, and translates the parser's
    /// words. All other lines already fit.
    private static func arrangedHelp(_ text: String) -> String {
        let usage = (parser: "USAGE:", shown: translated("USAGE:"))
        var isUsage = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [Substring] in
            // The parser adds a word to each group's name.
            if line.hasSuffix(Self.groupTitleEnd) { return [line.dropLast(Self.groupTitleEnd.count) + ":"] }
            let isFirst = line.hasPrefix(usage.parser)
            isUsage = isFirst || isUsage && !line.isEmpty
            guard isUsage else { return [Self.translatingParserWords(in: line)] }
            let head = isFirst ? usage.shown : String(repeating: " ", count: usage.shown.count)
            let line = head + line.dropFirst(usage.parser.count)
            guard line.count > 80 else { return [line[...]] }
            var lines: [Substring] = []
            var rest = line[...]
            while rest.count > 80 {
                // Keep an option and its value together: both are in brackets.
                var depth = 0
                let spaces = rest.prefix(81).indices.filter { index in
                    if rest[index] == "[" { depth += 1 } else if rest[index] == "]" { depth -= 1 }
                    return rest[index] == " " && depth == 0
                }
                guard let space = spaces.last, !rest[..<space].allSatisfy({ $0 == " " }) else { break }
                lines.append(rest[..<space])
                rest = String(repeating: " ", count: usage.shown.count + 3) + rest[space...].dropFirst()
            }
            return lines + [rest]
        }
        return lines.joined(separator: "\n")
    }

    private static let groupTitleEnd = " SUBCOMMANDS:"

    /// Translates the words in a line of a help text that come from the parser, and not from the commands.
    private static func translatingParserWords(in line: Substring) -> Substring {
        if let match = line.firstMatch(of: /^  See '(.*)' for detailed help\.$/) {
            return "  \(translated("See '\(match.1)' for detailed help."))"
        }
        let words = [
            ("OVERVIEW:", translated("OVERVIEW:")), ("ARGUMENTS:", translated("ARGUMENTS:")),
            ("OPTIONS:", translated("OPTIONS:")), ("SUBCOMMANDS:", translated("SUBCOMMANDS:")),
            ("Show help information.", translated("Show help information.")),
            ("Show the version.", translated("Show the version.")), ("(default: ", translated("(default: ")),
            ("(default)", translated("(default)")), ("(values: ", translated("(values: ")),
        ]
        return words.reduce(line) { line, word in line.replacing(word.0, with: word.1) }
    }

    private static func isRootArgument(_ argument: String) -> Bool {
        ["help", "--help", "-h", "--version"].contains(argument) || isCommand(argument)
            || argument.hasPrefix("--experimental-")
    }

    private static func isCommand(_ argument: String) -> Bool { commandNames.contains(argument) }

    /// Returns the command that a misspelt text may stand for.
    private static func nearestCommand(to text: String) -> String? { text.nearest(in: commandNames) }

    /// Returns the commands at the beginning of a command line, such as `queue` and `drop`, and the commands that the
    /// next word could be.
    private static func commandPath(_ words: some Sequence<String>) -> (path: [String], names: [String]) {
        var path: [String] = []
        var commands = configuration.subcommands
        for word in words {
            guard let command = commands.first(where: { names(of: $0).contains(word) }) else { break }
            path.append(word)
            commands = command.configuration.subcommands
        }
        return (path, commands.flatMap { names(of: $0) })
    }

    /// Returns the command line that shows the help of a command.
    private static func helpCommand(for path: [String]) -> String {
        (["openurl"] + path + ["--help"]).joined(separator: " ")
    }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        [command.configuration.commandName].compactMap(\.self) + command.configuration.aliases
    }

    private static var commandNames: [String] { configuration.subcommands.flatMap { names(of: $0) } }
}

extension Invocation {
    /// Prints an error about the command line, and the command that shows help.
    ///
    /// - Returns: the exit status.
    fileprivate func usageError(_ message: String, _ help: String) -> Int32 {
        errors.print(translated("\(message) (see '\(help)')"))
        return ExitStatus.usage
    }
}
