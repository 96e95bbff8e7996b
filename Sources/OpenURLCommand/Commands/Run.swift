internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import URLOpener

struct Run: Command {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a program that gets all URLs of some schemes while it runs.",
        discussion: """
            Tries a build of a handler: nothing is registered, and no file is written. The schemes go to the program before the \
            user's default, and go where they went before when the program, this command or the router ends. The program takes \
            its bundle identifier as its name on the bus. The command ends with the exit status of the program. A program that \
            outlives the command is ended.
            The desktop passes on only the URLs of schemes for which openurl is its handler already.
            """
    )

    @Option(
        parsing: .upToNextOption,
        help: .init("The schemes that the program gets.", valueName: "scheme"),
        completion: .schemes,
        transform: CommandLineArgument.requiredText
    )
    var claim: [String]

    @Option(
        help: .init(
            "The bundle identifier of the program, or the path of its bundle or manifest. A program in a bundle needs no option.",
            valueName: "id or path"
        ),
        completion: .handlers
    )
    var handler: CommandLineArgument?

    @Argument(
        parsing: .postTerminator,
        help: .init("The program and its arguments, after --.", valueName: "program"),
        completion: .file()
    )
    var command: [CommandLineArgument] = []

    /// A program in no bundle needs the option --handler.
    private static let example = "openurl run --claim todolist --handler com.example.todolist -- ./app"

    func validate() throws {
        if command.isEmpty {
            throw ValidationError("give the program after '--', as in '\(Self.example)'")
        }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        if invocation.host != nil {
            let reason = "'openurl run' runs programs of this machine only"
            throw CommandFailure(.invalidArguments, reason, exitStatus: ExitStatus.usage)
        }
        return try RunOperation(claim, try handlerText(), command, invocation).perform()
    }

    /// The identifier, or the absolute path of the bundle or manifest.
    private func handlerText() throws(CommandFailure) -> String {
        if let handler {
            let namesFile = handler.isPath || handler.bytes.suffix(6).elementsEqual(".plist".utf8)
            guard !namesFile, let text = handler.text else { return try handler.absolutePath() }
            return text
        }
        let parts = try command[0].absolutePath().split(separator: "/")
        if command[0].isPath, let bundle = parts.lastIndex(where: { $0.hasSuffix(".app") }) {
            return "/" + parts[...bundle].joined(separator: "/")
        }
        throw CommandFailure(
            .invalidArguments,
            "\(command[0].shown) is in no bundle, so its bundle identifier is not known; "
                + "say it with '--handler ID', as in '\(Self.example)'",
            exitStatus: ExitStatus.usage
        )
    }
}
