internal import Glibc
internal import OpenURLCommand
internal import Processes
internal import URLOpener

/// Runs `openurl` command lines that have options or a command.
@main enum Program {
    static func main() {
        StandardStreams.reserve()
        exit(Invocation.ofProcess.run())
    }
}
