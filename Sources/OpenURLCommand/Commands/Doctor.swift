internal import ArgumentParser
internal import Glibc
internal import Release
internal import Translations
internal import URLOpener

struct Doctor: Command {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: translated("Find out why a link does nothing."),
        discussion: translated(
            """
            Checks the bus, the router, the handlers, the desktop's entries and its defaults, and says what would open the URLs. \
            Each line is ok, warn, fail or skip, with the file and the command that fixes the problem.
            The exit status is 0, or 1 if a check failed.
            """
        ),
        examples: [
            "openurl doctor",
            "openurl doctor --fix todolist:",
        ]
    )

    @Flag(
        help: .init(
            translated(
                "Send URLs over the bus and through xdg-open, gio and the portal, and show which of them arrive."
            )
        )
    )
    var probe = false

    @Flag(help: .init(translated("Fix the problems that affect only you, then check again.")))
    var fix = false

    @Flag(help: .init(translated("Print a JSON array with an object for each line.")))
    var json = false

    @Argument(
        help: .init(
            translated("The scheme, the URL, or the identifier of a handler or application to check."),
            valueName: "scheme, url or id"
        ),
        completion: .schemesAndHandlers,
        transform: CommandLineArgument.requiredText
    )
    var topic: String?

    /// Replaces this process's program with the router's, which can read manifests and entries. Without that code, this
    /// command starts much faster.
    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "doctor")
        var arguments = ["--doctor", "--command", Version.current]
        if probe { arguments.append("--probe") }
        if fix { arguments.append("--fix") }
        if json { arguments.append("--json") }
        if let topic { arguments += ["--", topic] }
        throw InstalledProgram.router.become(arguments)
    }
}
