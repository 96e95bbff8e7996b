internal import Glibc
internal import URLOpener

/// The `openurl` command. If a command line has only URLs, this opens them; it leaves any other command line to
/// `openurl-command`.
///
/// With an option parser, the program would be a third larger, and the dynamic linker adapts every page of data at each
/// start.
@main enum Program {
    static func main() {
        let invocation = Invocation.ofProcess
        exit(invocation.openURLs() ?? InstalledProgram.command.becomeForSameArguments(invocation))
    }
}
