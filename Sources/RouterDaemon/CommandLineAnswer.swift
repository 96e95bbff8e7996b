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
    init?(_ arguments: [String]) {
        switch arguments {
        case []:
            return nil
        case ["--version"]:
            text = "openurld \(Version.current)\n"
            descriptor = STDOUT_FILENO
            status = EXIT_SUCCESS
        default:
            text = "usage: openurld [--version]\n"
            descriptor = STDERR_FILENO
            status = EX_USAGE
        }
    }
}
