internal import Glibc
internal import Processes
internal import URLOpener

/// The `openurl` command. It opens the URLs on a command line that consists only of URLs, prints its version, and leaves
/// any other command line to `openurl-command`.
///
/// An option parser would make the program a third larger, and the dynamic linker has to relocate every page of data
/// each time the program starts.
@main enum Program {
    static func main() {
        StandardStreams.reserve()
        let invocation = Invocation.ofProcess
        exit(invocation.performPlainly() ?? InstalledProgram.command.becomeForSameArguments(invocation))
    }
}
