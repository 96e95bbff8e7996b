internal import ArgumentParser
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Run: Command {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: translated("Run a program that gets all URLs of the given schemes."),
        discussion: translated(
            """
            Use this to try a build of a handler: it registers nothing and writes no file. The program gets the URLs even if \
            your default is another handler, until the program, this command or the router exits. The program must take \
            its bundle identifier as its name on the bus. The exit status is the program's. If this command exits first, \
            the program is ended too.
            The desktop passes on only the URLs of schemes that openurl handles already.
            """
        ),
        examples: [
            "openurl run --claim todolist -- ./TodoList.app/todolist",
            "openurl run --claim hello --handler com.example.hello -- ./hello",
        ]
    )

    @Option(
        parsing: .upToNextOption,
        help: .init(translated("The schemes that the program gets."), valueName: "scheme"),
        completion: .schemes,
        transform: CommandLineArgument.requiredText
    )
    var claim: [String]

    @Option(
        help: .init(
            translated(
                "The bundle identifier of the program, or the path of its bundle or manifest. A program in a bundle does not need this."
            ),
            valueName: "id or path"
        ),
        completion: .manifests
    )
    var handler: CommandLineArgument?

    @Argument(
        parsing: .postTerminator,
        help: .init(translated("The program and its arguments, after --."), valueName: "program"),
        completion: .file()
    )
    var command: [CommandLineArgument] = []

    /// An example for error messages. It has the option `--handler`, which a program that is not in a bundle needs.
    private static let example = "openurl run --claim todolist --handler com.example.todolist -- ./app"

    func validate() throws {
        if command.isEmpty {
            throw ValidationError(translated("give the program after '--', as in '\(Self.example)'"))
        }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "run")
        return try RunOperation(claim, try handlerText(), command, invocation).perform()
    }

    /// Returns the identifier, or the absolute path of the bundle or manifest.
    private func handlerText() throws(CommandFailure) -> String {
        if let handler {
            let namesFile = handler.isPath || handler.bytes.suffix(6).elementsEqual(".plist".utf8)
            guard !namesFile, let text = handler.text else { return try existing(handler.absolutePath()) }
            return text
        }
        let parts = try command[0].absolutePath().split(separator: "/")
        if command[0].isPath, let bundle = parts.lastIndex(where: { $0.hasSuffix(".app") }) {
            return try existing("/" + parts[...bundle].joined(separator: "/"))
        }
        throw CommandFailure(
            .invalidArguments,
            translated(
                """
                \(command[0].shown) is not in a bundle, so its bundle identifier is unknown; give it with '--handler ID', as in \
                '\(Self.example)'
                """
            ),
            exitStatus: ExitStatus.usage
        )
    }

    /// Returns the path of a bundle or a manifest.
    ///
    /// - Throws: the failure if it cannot be read, because the router reports that as a wrong argument.
    private func existing(_ path: String) throws(CommandFailure) -> String {
        guard access(manifestFile(path), R_OK) == 0 else {
            throw CommandFailure(errno, of: path, status: ExitStatus.noInput)
        }
        return path
    }
}
