internal import ArgumentParser
internal import Translations
internal import URLOpener

struct Intents: Command {
    static let configuration = CommandConfiguration(
        commandName: "intents",
        abstract: translated("Show or choose the applications that implement an intent."),
        discussion: translated(
            """
            An intent is an interface that applications list in the key Implements of their desktop entries, such as \
            org.freedesktop.Terminal1. Without an ID, prints the default and the other applications, with the file and \
            the line that decide. Your choice is stored in intentapps.list.
            The exit status is 0, or 3 if no application implements the intent.
            """
        ),
        examples: [
            "openurl intents",
            "openurl intents org.freedesktop.Terminal1 org.gnome.Ptyxis.desktop",
        ]
    )

    @Option(
        help: .init(translated("Consider only this scope of the intent, such as a MIME type.")),
        transform: CommandLineArgument.requiredText
    )
    var scope: String?

    @Flag(help: .init(translated("Remove your choice.")))
    var reset = false

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The name of the interface.")),
        transform: CommandLineArgument.requiredText
    )
    var interface: String?

    @Argument(
        help: .init(translated("The name of a desktop file, to choose the application.")),
        transform: CommandLineArgument.requiredText
    )
    var id: String?

    func validate() throws {
        if reset, id != nil { throw ValidationError(translated("use --reset without an ID")) }
        if interface == nil, reset || scope != nil {
            throw ValidationError(translated("--reset and --scope need the name of an interface"))
        }
    }

    /// Replaces this process's program with the router's, which can read entries.
    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "intents")
        var arguments = ["--intents"]
        if outputOptions.json { arguments.append("--json") }
        if reset { arguments.append("--reset") }
        if let scope { arguments += ["--scope", scope] }
        if let interface { arguments += ["--", interface] + (id.map { [$0] } ?? []) }
        throw InstalledProgram.router.become(arguments)
    }
}
