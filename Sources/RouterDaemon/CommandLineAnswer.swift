internal import Doctor
internal import Glibc
internal import OpenURLBus
internal import Release

/// The answer to a command line that does not start the router.
struct CommandLineAnswer: Hashable {
    let text: String
    /// The descriptor that gets the text.
    let descriptor: CInt
    /// The exit status.
    let status: CInt

    /// Answers the arguments after the program's name; nil without arguments, as the router is to start then.
    ///
    /// - Parameter installation: the files beside this program.
    init?(_ arguments: [String], installation: Installation? = Installation()) {
        switch arguments {
        case []:
            return nil
        case ["--version"]:
            text = "openurld \(Version.current)\n"
            descriptor = STDOUT_FILENO
            status = EXIT_SUCCESS
        case let arguments where arguments.first == "--publish":
            guard let publication = SystemPublication(arguments.dropFirst()) else { fallthrough }
            let (problems, isDone) = publication.perform(with: installation)
            // People call the program as `openurl publish`.
            text = problems.map { "openurl: \($0)\n" }.joined()
            descriptor = STDERR_FILENO
            status = isDone ? EXIT_SUCCESS : EXIT_FAILURE
        case let arguments where arguments.first == "--doctor":
            guard let doctor = Doctor(arguments.dropFirst()) else { fallthrough }
            let outcome = doctor.run(
                environment: ProcessEnvironment.variables(environ),
                installation: installation?.files
            )
            text = outcome.text
            descriptor = outcome.isUsageError ? STDERR_FILENO : STDOUT_FILENO
            status = outcome.isUsageError ? EX_USAGE : outcome.hasFailed ? EXIT_FAILURE : EXIT_SUCCESS
        default:
            text =
                "usage: openurld [--version | --publish directory [--root directory] [--remove] | --doctor [options]]\n"
            descriptor = STDERR_FILENO
            status = EX_USAGE
        }
    }
}
