internal import Doctor
internal import Glibc
internal import LinkSettings
internal import OpenURLBus
internal import Release

/// The answer to a command line that does not start the router.
struct CommandLineAnswer: Hashable {
    let text: String
    /// The descriptor that the text is written to.
    let descriptor: CInt
    let status: CInt

    /// Creates the answer to the arguments after the program's name; nil if there are none, in which case the router
    /// starts.
    ///
    /// - Parameter installation: the files installed with this program.
    init?(_ arguments: [String], installation: Installation? = Installation()) {
        if arguments.isEmpty { return nil }
        if arguments == ["--version"] {
            self.init(text: "openurld \(Version.current)\n", descriptor: STDOUT_FILENO, status: EXIT_SUCCESS)
        } else if arguments[0] == "--publish", let publication = SystemPublication(arguments.dropFirst()) {
            let (problems, isDone) = publication.perform(with: installation)
            // Users run this program as `openurl publish`.
            let text = problems.map { "openurl: \($0)\n" }.joined()
            self.init(text: text, descriptor: STDERR_FILENO, status: isDone ? EXIT_SUCCESS : EXIT_FAILURE)
        } else if arguments[0] == "--doctor", let doctor = Doctor(arguments.dropFirst()) {
            let outcome = doctor.run(
                environment: ProcessEnvironment.variables(environ),
                installation: installation?.files
            )
            self.init(
                text: outcome.text,
                descriptor: outcome.isUsageError ? STDERR_FILENO : STDOUT_FILENO,
                status: outcome.isUsageError ? EX_USAGE : outcome.hasFailed ? EXIT_FAILURE : EXIT_SUCCESS
            )
        } else if arguments[0] == "--links", let settings = LinkSettings(arguments.dropFirst()) {
            let outcome = settings.run(
                environment: ProcessEnvironment.variables(environ),
                handlers: installation?.handlers,
                chooser: installation?.chooser
            )
            self.init(
                text: outcome.text,
                descriptor: outcome.isFailure ? STDERR_FILENO : STDOUT_FILENO,
                status: outcome.isFailure ? EXIT_FAILURE : EXIT_SUCCESS
            )
        } else if arguments[0] == "--intents", let query = IntentQuery(arguments.dropFirst()) {
            let outcome = query.run(environment: ProcessEnvironment.variables(environ))
            self.init(
                text: outcome.text,
                descriptor: outcome.isError ? STDERR_FILENO : STDOUT_FILENO,
                status: outcome.isError ? EXIT_FAILURE : outcome.isEmpty ? Self.noApplication : EXIT_SUCCESS
            )
        } else {
            let usage =
                "--publish directory [--root directory] [--remove] | --doctor [options] | --links [options] | --intents [options]"
            self.init(text: "usage: openurld [--version | \(usage)]\n", descriptor: STDERR_FILENO, status: EX_USAGE)
        }
    }

    /// The status of `openurl` if nothing handles a scheme.
    private static let noApplication: CInt = 3

    private init(text: String, descriptor: CInt, status: CInt) {
        self.text = text
        self.descriptor = descriptor
        self.status = status
    }
}
