internal import ArgumentParser
internal import DBus
internal import Translations
internal import URLOpener

struct Share: Command {
    static let configuration = CommandConfiguration(
        commandName: "share",
        abstract: translated("Let the programs in a container open URLs here."),
        discussion: translated(
            """
            Makes a socket for one container, unless there is one, and prints the line that shows it there. In the \
            container, $BROWSER then opens web addresses here, and sign-ins come back. The container needs nothing else, \
            and gets neither the session bus nor your files. You are asked about each address the first time, as the \
            container NAME. The share lasts until 'openurl share --stop NAME', or until you log out; start it again at the \
            next login, before the container.
            Without a name, lists the shares.
            """
        ),
        examples: [
            "openurl share devbox",
            "openurl share --stop devbox",
        ]
    )

    @Option(
        name: .customLong("for"),
        help: .init(
            translated(
                """
                Print the line for podman (the default), docker, toolbox, distrobox, devcontainer, nspawn or bubblewrap.
                """
            ),
            valueName: "engine"
        ),
        completion: .list(ContainerEngine.allCases.map(\.rawValue)),
        transform: ContainerEngine.init(argument:)
    )
    var engine: ContainerEngine?

    @Flag(help: .init(translated("Keep running, for a service, and end the share on SIGTERM or Ctrl-C.")))
    var foreground = false

    @Flag(help: .init(translated("End the share.")))
    var stop = false

    @Argument(
        help: .init(translated("The container's name, which you can choose."), valueName: "name"),
        transform: CommandLineArgument.requiredText
    )
    var name: String?

    func validate() throws {
        if let name, !ShareOperation.isName(name) {
            throw ValidationError(
                translated("'\(name)' is not a name for a share: use at most 64 letters, digits, '.', '_' and '-'")
            )
        }
        if name == nil, stop || foreground { throw ValidationError(translated("give the container's name")) }
        if stop, foreground { throw ValidationError(translated("use either --stop or --foreground")) }
        if engine != nil, name == nil || stop || foreground {
            throw ValidationError(translated("use --for with a name, and without --stop and --foreground"))
        }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "share")
        let operation = try ShareOperation(invocation)
        guard let name else { return operation.list() }
        if stop { return try operation.stop(name) }
        if foreground { return try operation.serve(name) }
        return try operation.start(name, engine ?? .podman)
    }
}
