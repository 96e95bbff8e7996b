internal import ArgumentParser
internal import DBus
internal import Translations
internal import URLOpener

struct SSH: Command {
    static let configuration = CommandConfiguration(
        commandName: "ssh",
        abstract: translated("Log in on another machine, whose programs open URLs here."),
        discussion: translated(
            """
            Runs ssh. In the session, $BROWSER, xdg-open and openurl open web addresses here, and sign-ins come back to the \
            program there, even those that wait at a port. The other machine needs a shell and an sshd that forwards \
            sockets, and openurl-remote if its processor is of another kind. You are asked about each address the \
            first time; 'openurl policy allow --source host:HOST https' allows all web addresses. Other schemes need \
            such a rule.
            The exit status is that of the command or the shell on the other machine, 255 if ssh fails or the other \
            machine gives no answer, or 128 plus the number of a signal that ends it before the session.
            """
        ),
        examples: [
            "openurl ssh alice@box",
            "openurl ssh box gh auth login",
        ]
    )

    @Option(
        name: .customShort("o"),
        help: .init(translated("An option for ssh, as in ssh_config(5), such as Port=2222."), valueName: "option"),
        transform: CommandLineArgument.requiredText
    )
    var options: [String] = []

    @Flag(
        name: [.customShort("t"), .customLong("tty")],
        help: .init(translated("Give the command a terminal, as a shell has without this option."))
    )
    var hasTerminal = false

    @Argument(
        help: .init(translated("The machine: HOST or USER@HOST, or a name in ssh_config(5)."), valueName: "host"),
        transform: CommandLineArgument.requiredText
    )
    var host: String

    @Argument(
        parsing: .captureForPassthrough,
        help: .init(translated("The command to run there, instead of a shell."), valueName: "command"),
        transform: CommandLineArgument.anyText
    )
    var command: [String] = []

    func validate() throws {
        if host.hasPrefix("-") || SSHOperation.name(of: host) == nil {
            throw ValidationError(translated("'\(host)' is not the name of a machine"))
        }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "ssh")
        return try SSHOperation(host, options, command, hasTerminal: hasTerminal, invocation).perform()
    }
}
