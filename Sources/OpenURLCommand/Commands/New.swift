internal import ArgumentParser
internal import DBus
internal import Glibc
internal import Processes
internal import Translations
internal import URLOpener

struct New: Command {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: translated("Write a new handler, with a manifest and a test."),
        discussion: translated(
            """
            Creates a directory with a handler that greets the name in a URL, and prints the commands to build, test, register, open \
            and restart it. Overwrites nothing.
            """
        ),
        examples: [
            "openurl new com.example.greeter",
            "openurl new --python --scheme hi com.example.greeter",
        ]
    )

    @Flag(help: .init(translated("The language of the handler.")))
    var language = HandlerTemplate.Language.swift

    @Option(
        help: .init(
            translated("The scheme of the URLs (default: the last element of the identifier)."),
            valueName: "scheme"
        ),
        transform: CommandLineArgument.requiredText
    )
    var scheme: String?

    @Option(
        help: .init(
            translated("The directory to write (default: a new one, named after the last element of the identifier).")
        ),
        completion: .directory,
        transform: CommandLineArgument.requiredText
    )
    var directory: String?

    @Option(
        help: .init(
            translated(
                "The clone of openurl that builds a handler in Swift (default: the one from which this program runs)."
            ),
            valueName: "path"
        ),
        completion: .directory,
        transform: CommandLineArgument.requiredText
    )
    var package: String?

    @Argument(
        help: .init(translated("The bundle identifier, such as com.example.greeter."), valueName: "id"),
        transform: CommandLineArgument.requiredText
    )
    var id: String

    func validate() throws {
        guard package != nil, language != .swift else { return }
        throw ValidationError(translated("--package is for a handler in Swift only"))
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        try invocation.requireNoHost(for: "new")
        let template = try HandlerTemplate(language, id: id, scheme: scheme)
        let directory = try CommandLineArgument.text(self.directory ?? template.name).absolutePath()
        // In a clone or in another project, a directory with other files may have the last element of the identifier as
        // its name.
        if self.directory == nil, access(directory, F_OK) == 0 {
            let message = translated("\(directory) already exists; give a directory with --directory PATH")
            throw CommandFailure(.failed, message, exitStatus: ExitStatus.failure)
        }
        let clone = language == .swift ? try self.clone() : ""
        let files = template.files(clone: clone)
        for file in files { try create(file, in: directory) }
        for file in files { invocation.output.print("\(directory)/\(file.path)".printable) }
        invocation.output.print("")
        for line in template.commands(in: directory) { invocation.output.print(line) }
        return 0
    }

    /// Returns the path of the package on which a handler in Swift depends.
    private func clone() throws(CommandFailure) -> String {
        if let package {
            let path = try CommandLineArgument.text(package).absolutePath()
            guard isClone(path) else {
                let message = translated("\(path) is not a clone of openurl; give the path of one with --package PATH")
                throw CommandFailure(.fileNotFound, message, exitStatus: ExitStatus.noInput)
            }
            return path
        }
        // A program that was built in a clone is in a directory of the clone.
        var place = ProcessProgram.file(pid: UInt32(getpid())) ?? ""
        while let end = place.lastIndex(of: "/") {
            place = String(place[..<end])
            if isClone(place) { return place }
        }
        let message = translated(
            "a handler in Swift needs a clone of openurl to build; give its path with --package PATH"
        )
        throw CommandFailure(.invalidArguments, message, exitStatus: ExitStatus.usage)
    }

    private func isClone(_ path: String) -> Bool {
        access("\(path)/Package.swift", R_OK) == 0 && access("\(path)/Sources/URLHandler", R_OK) == 0
    }

    private func create(_ file: HandlerTemplate.File, in directory: String) throws(CommandFailure) {
        var parent = ""
        for name in "\(directory)/\(file.path)".split(separator: "/").dropLast() {
            parent += "/\(name)"
            guard mkdir(parent, 0o755) == 0 || errno == EEXIST else { throw failure(parent) }
        }
        let path = "\(directory)/\(file.path)"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file.isExecutable ? 0o755 : 0o644)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        var rest = Array(file.text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw failure(path) }
            rest = rest.dropFirst(count)
        }
    }

    private func failure(_ path: String) -> CommandFailure {
        CommandFailure(.failed, "\(path): \(systemErrorText(errno))", exitStatus: ExitStatus.failure)
    }
}

extension HandlerTemplate.Language: EnumerableFlag {
    static func help(for value: Self) -> ArgumentHelp? {
        switch value {
        case .swift: .init(translated("Write it in Swift (the default)."))
        case .python: .init(translated("Write it in Python, for python3-dbus and python3-gi."))
        case .c: .init(translated("Write it in C, for sd-bus."))
        }
    }
}
