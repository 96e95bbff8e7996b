internal import Translations
internal import URLOpener

extension Invocation {
    /// Performs the command that the arguments specify.
    ///
    /// - Returns: the exit status.
    package func run() -> Int32 {
        // A program reads JSON, and the errors beside it.
        if arguments.prefix(while: { $0 != .text("--") }).contains(.text("--json")) { keepTextsInEnglish() }
        var invocation = self
        do throws(CommandFailure) {
            try invocation.takeHost()
        } catch {
            errors.print(error)
            return error.exitStatus
        }
        if let status = invocation.performPlainly() { return status }
        return output.finish(CommandLineInterface.run(invocation), errors)
    }
}
