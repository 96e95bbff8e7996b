internal import URLOpener

extension Invocation {
    /// Performs the command that the arguments specify.
    ///
    /// - Returns: the exit status.
    package func run() -> Int32 {
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
