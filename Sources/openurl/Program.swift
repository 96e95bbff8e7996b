internal import Glibc
internal import OpenURLCommand

/// The `openurl` command.
@main enum Program {
    static func main() {
        exit(Invocation.ofProcess.run())
    }
}
