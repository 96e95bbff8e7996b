internal import ArgumentParser
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Send: Command {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: translated("Copy files into a handler's inbox."),
        discussion: translated(
            """
            The handler opens the copies, owns them, and deletes them. It must claim the types of the files. If a file was not \
            opened, no copy stays behind, unless the handler may have acted on it. Returns when the handler has answered, or with --queue \
            when the files and their URLs are on the disk. The exit status is that of the first failure.
            """
        ),
        examples: [
            "openurl send --to com.acme.todolist report.pdf",
            "openurl send --to com.acme.todolist --queue *.png",
        ]
    )

    @Option(
        help: .init(translated("The handler that gets the files."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var to: String

    @Option(
        help: .init(translated("Set the time limit for each open, such as 5 or 5s, 500ms or 2m."), valueName: "time"),
        transform: TimeLimit.init
    )
    var timeout: TimeLimit?

    @Flag(help: .init(translated("Do not bring the handler to the foreground.")))
    var background = false

    @Flag(help: .init(translated("Store the files and return; the router delivers them later.")))
    var queue = false

    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init(translated("A file to send."), valueName: "file"), completion: .file())
    var files: [CommandLineArgument]

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "send")
        var options = OpenOptions()
        options.handler = to
        options.timeout = timeout?.duration
        options.inBackground = background
        options.isQueued = queue
        options.activationToken = invocation.environment("XDG_ACTIVATION_TOKEN")
        options.desktopStartupID = invocation.environment("DESKTOP_STARTUP_ID")
        let router = RouterClient(on: invocation)
        let batch = Batch(key: "file", printsJSON: outputOptions.json, invocation: invocation)
        var status: Int32 = 0
        var rest = files[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(RouterInterface.filesPerCall))
            rest = rest.dropFirst(part.count)
            let outcomes = send(part, options, with: router)
            let partStatus = batch.perform(Array(zip(part, outcomes)), name: \.0.shown) {
                (item) throws(CommandFailure) in
                let result = try item.1.mapError {
                    outputOptions.json ? $0 : router.suggestingHandler(for: to, $0)
                }.get()
                if outputOptions.json { invocation.output.print(result.json(of: item.0.shown, as: "file").text) }
            }
            if status == 0 { status = partStatus }
        }
        return status
    }

    /// Sends the files in one call. If a file cannot be opened here, the others are still sent.
    private func send(
        _ files: [CommandLineArgument],
        _ options: OpenOptions,
        with router: RouterClient
    ) -> [Result<OpenResult, CommandFailure>] {
        let opened = files.map { file in
            Result { () throws(CommandFailure) in try file.openedFile() }
        }
        let sent = opened.compactMap { (file) -> SentFile? in
            if case .success(let file) = file { file } else { nil }
        }
        var answers: [Result<OpenResult, CommandFailure>] = []
        if !sent.isEmpty {
            do throws(CommandFailure) {
                let input = Arguments(sent, options)
                let outcomes = try router.call(RouterInterface.openFiles, input, timeout: RouterClient.longestCall)
                answers = outcomes.map { outcome in
                    switch outcome {
                    case .opened(let result): .success(result)
                    case .failed(let error): .failure(CommandFailure(.remote(error), refusal: ExitStatus.failure))
                    }
                }
            } catch {
                answers = sent.map { _ in .failure(error) }
            }
        }
        var next = answers.makeIterator()
        return opened.map { file in
            switch file {
            case .failure(let failure): return .failure(failure)
            case .success:
                let missing = CommandFailure(
                    .noReply,
                    translated("the router did not report an outcome for the file"),
                    exitStatus: ExitStatus.unavailable
                )
                return next.next() ?? .failure(missing)
            }
        }
    }
}

extension CommandLineArgument {
    /// Opens the file that the argument refers to, so that another program can read it.
    ///
    /// It must be a regular file. Links are not followed.
    fileprivate func openedFile() throws(CommandFailure) -> SentFile {
        guard !bytes.isEmpty else { throw CommandFailure(unsendable: shown, translated("its name is empty")) }
        let path = bytes.map(CChar.init(bitPattern:)) + [0]
        // The root directory has no name, and is not a regular file.
        let last = bytes.split(separator: UInt8(ascii: "/")).last ?? []
        guard let name = String(validating: last, as: UTF8.self) else {
            throw CommandFailure(unsendable: shown, translated("its name is not UTF-8"))
        }
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason =
                errno == ELOOP ? translated("it is a link; send the file that it points to") : systemErrorText(errno)
            throw CommandFailure(unsendable: shown, reason)
        }
        let file = UnixFD(owning: descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(unsendable: shown, translated("it is not a regular file"))
        }
        return SentFile(name: name, descriptor: file)
    }
}

extension CommandFailure {
    fileprivate init(unsendable file: String, _ reason: String) {
        self.init(
            .fileNotFound,
            translated("'\(file)' cannot be sent: \(reason)"),
            exitStatus: ExitStatus.noInput
        )
    }
}
