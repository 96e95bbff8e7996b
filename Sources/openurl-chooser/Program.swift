internal import Chooser
internal import Glibc

/// The window in which a person chooses the program for a URL.
@main enum Program {
    static func main() {
        exit(ChooserProgram.run())
    }
}
