internal import Glibc
internal import URLOpener

/// The `openurl` command. It opens the URLs of a command line of URLs alone, and leaves any other command line to
/// `openurl-command`.
///
/// The parser of options makes a program a third larger, and the dynamic linker adapts every page of data at each start.
@main enum Program {
    static func main() {
        let invocation = Invocation.ofProcess
        exit(invocation.openURLs() ?? InstalledProgram.command.becomeForSameArguments(invocation))
    }
}
