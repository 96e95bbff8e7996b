internal import Glibc
internal import URLOpener

/// The `openurl` command. It opens the URLs on a command line that consists only of URLs, and leaves any other command
/// line to `openurl-command`.
///
/// With an option parser, the program would be a third larger, and the dynamic linker has to adjust every page of data
/// at each start.
@main enum Program {
    static func main() {
        let invocation = Invocation.ofProcess
        exit(invocation.openURLs() ?? InstalledProgram.command.becomeForSameArguments(invocation))
    }
}
