internal import DBus
internal import Glibc
internal import OpenURLBus

extension Value? {
    /// Returns the annotation with open files as further entries. The handler reads from the files; this program does not.
    ///
    /// - Parameter standardInput: the descriptor for a file without a path.
    /// - Throws: the failure of a file that cannot be opened.
    func attaching(_ files: [KeyFile], standardInput: CInt) throws(CommandFailure) -> Value? {
        guard !files.isEmpty else { return self }
        var entries = self?.options ?? [:]
        for file in files {
            let descriptor =
                file.path.map { open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY) } ?? fcntl(standardInput, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0 else { throw CommandFailure(errno, of: file.path ?? "standard input") }
            entries[file.key] = .unixFD(UnixFD(owning: descriptor))
        }
        return .options(entries)
    }
}

extension OpenResult {
    /// Writes a value of the reply into a file: a text, bytes, or everything that the handler writes into a pipe or file.
    ///
    /// - Parameter output: the output for a file without a path.
    /// - Throws: `invalidReply` if the reply has no such value, and the failure of the file.
    func save(_ file: KeyFile, _ output: StandardOutput) throws(CommandFailure) {
        guard let value = reply[file.key] else {
            throw CommandFailure(OpenURLError(.invalidReply, "the reply of \(handler) has no '\(file.key)'"))
        }
        guard let path = file.path else { return try copy(value, file.key) { output.write($0) } }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0o666)
        guard descriptor >= 0 else { throw CommandFailure(errno, of: path) }
        var problem: CInt?
        do throws(CommandFailure) {
            try copy(value, file.key) { bytes in
                problem = OpenURLCommand.write(bytes, to: descriptor)
                return problem == nil
            }
        } catch {
            close(descriptor)
            throw error
        }
        // A file system may report a write that failed at the end only.
        if close(descriptor) != 0, problem == nil { problem = errno }
        if let problem { throw CommandFailure(problem, of: path) }
    }

    private func copy(
        _ value: Value,
        _ key: String,
        to write: (ArraySlice<UInt8>) -> Bool
    ) throws(CommandFailure) {
        switch value {
        case .string(let text): _ = write(Array(text.utf8)[...])
        case .array(let elements, "y"):
            let bytes = elements.map { if case .byte(let byte) = $0 { byte } else { 0 as UInt8 } }
            _ = write(bytes[...])
        case .unixFD(let source):
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = read(source.rawValue, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    var input = pollfd(fd: source.rawValue, events: Int16(POLLIN), revents: 0)
                    _ = poll(&input, 1, -1)
                    continue
                }
                guard count >= 0 else { throw CommandFailure(errno, of: "'\(key)' of \(handler)") }
                guard count > 0, write(buffer[..<count]) else { return }
            }
        default:
            let type = value.signature.rawValue
            let message = "'\(key)' in the reply of \(handler) is of type '\(type)', not a text, bytes or a descriptor"
            throw CommandFailure(OpenURLError(.invalidReply, message))
        }
    }
}

extension CommandFailure {
    /// Creates the failure of a file.
    fileprivate init(_ code: CInt, of file: String) {
        self.init(
            "org.freedesktop.DBus.Error.IOError",
            "\(file): \(String(cString: strerror(code)))",
            exitStatus: ExitStatus.inputOutput
        )
    }
}
