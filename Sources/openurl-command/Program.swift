internal import Glibc
internal import OpenURLCommand
internal import URLOpener

/// Command lines of `openurl` that have options or name a command.
@main enum Program {
    static func main() {
        exit(Invocation.ofProcess.run())
    }
}
