extension PatientReader {
    /// Runs the part of a registration that uses the handler's files, because they may be on a file system that is not
    /// responding.
    ///
    /// - Parameter outcome: what the caller is told if the file system does not respond in time.
    func registering<Value: Sendable>(
        _ path: String,
        orTelling outcome: String = "the handler's file system is not responding; try again later",
        _ body: @escaping @Sendable () throws(RegistrationError) -> Value
    ) throws(RegistrationError) -> Value {
        let result = read(path) { _, _ in
            Result { () throws(RegistrationError) in try body() }
        }
        guard let result else { throw .fileSystem(path: path, reason: outcome) }
        return try result.get()
    }
}
