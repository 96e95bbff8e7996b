// A release builds all targets, and its toolchain has no static Testing.
#if canImport(Testing)
    import Glibc
    import Testing

    /// Writes a program that the test is going to start, and replaces an older one.
    ///
    /// Another process writes the file. If this process did, and if another thread started a process meanwhile, the
    /// child process would also have the file open for writing for a moment, and the file could not be started
    /// (`ETXTBSY`, execve(2)).
    ///
    /// - Parameters:
    ///   - text: a script with its first line.
    ///   - path: the path. The file's folder exists.
    public func writeProgram(_ text: String, to path: String) throws {
        let directory = try TemporaryDirectory()
        let words = ["install", "-m", "755", try directory.write(text, to: "program"), path]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid: pid_t = 0
        try #require(posix_spawn(&pid, "/usr/bin/install", nil, nil, &arguments, environ) == 0)
        var status: CInt = 0
        while waitpid(pid, &status, 0) < 0 { try #require(errno == EINTR) }
        try #require(status == 0, "install(1) did not write the program \(path)")
    }
#endif
