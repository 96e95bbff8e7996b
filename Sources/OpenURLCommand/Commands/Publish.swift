internal import ArgumentParser
internal import Translations
internal import URLOpener

struct Publish: Command {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: translated("Make the system's handlers known to the desktop."),
        discussion: translated(
            """
            Writes an entry and a service file for each handler in the directory openurl/handlers of a data directory, such as \
            /usr/share, and removes those of handlers that no longer exist. A package with handlers runs this after it is \
            installed and after it is removed. Needs no bus and no router.
            """
        ),
        examples: [
            "openurl publish --system /usr/share",
            "openurl publish --system /usr/share --root /tmp/stage",
        ]
    )

    @Option(
        help: .init(translated("The data directory."), valueName: "directory"),
        completion: .directory,
        transform: Publish.absolutePath
    )
    var system: String

    @Option(
        help: .init(translated("A directory to use in place of / while a package is built."), valueName: "directory"),
        completion: .directory,
        transform: { try $0.isEmpty ? "" : Publish.absolutePath($0) }
    )
    var root = ""

    @Flag(help: .init(translated("Remove all entries and service files that this command has written.")))
    var remove = false

    private static func absolutePath(_ argument: String) throws -> String {
        let path = try CommandLineArgument.requiredText(argument)
        guard path.hasPrefix("/") else { throw ValidationError(translated("give the absolute path of the directory")) }
        return path
    }

    /// Replaces this process's program with the router's, which can read manifests.
    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "publish")
        var arguments = ["--publish", system]
        if !root.isEmpty { arguments += ["--root", root] }
        if remove { arguments.append("--remove") }
        throw InstalledProgram.router.become(arguments)
    }
}
