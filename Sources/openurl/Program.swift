internal import Glibc

/// The `openurl` command.
///
/// A command line of URLs alone is opened without the parser of options, which would cost more than all the rest of the
/// program; everything else is ``CommandLineInterface``'s.
@main enum Program {
    static func main() {
        let arguments = CommandLineArgument.all
        let output = StandardOutput()
        let status =
            if let request = OpenRequest(plain: arguments) {
                request.perform(output)
            } else {
                CommandLineInterface.run(arguments, output)
            }
        exit(output.finish(status))
    }
}
