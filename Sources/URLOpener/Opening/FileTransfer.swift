internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Translations

extension Value? {
    /// Returns the annotation with open files as additional entries. The handler reads from these files; this program
    /// does not.
    ///
    /// - Parameters:
    ///   - standardInput: the descriptor for a file without a path.
    ///   - deadline: when a named pipe must have input; nil for no limit.
    /// - Throws: the failure for a file that cannot be read, and `timedOut`.
    func attaching(
        _ files: [KeyedFile],
        standardInput: CInt,
        until deadline: ContinuousClock.Instant?
    ) throws(CommandFailure) -> Value? {
        guard !files.isEmpty else { return self }
        var entries = self?.options ?? [:]
        for file in files {
            let opened =
                if let path = file.path { try open(path, until: deadline) } else {
                    try copy(ofStandardInput: standardInput)
                }
            entries[file.key] = .unixFD(opened)
        }
        return .options(entries)
    }

    /// Opens a file for reading. A named pipe is given to the handler when it has input, because it would seem to be empty
    /// if it has no writer yet.
    private func open(_ path: String, until deadline: ContinuousClock.Instant?) throws(CommandFailure) -> UnixFD {
        // Without O_NONBLOCK, opening a named pipe waits for its writer.
        let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw CommandFailure(errno, of: path, status: ExitStatus.noInput) }
        let file = UnixFD(owning: descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw CommandFailure(errno, of: path, status: ExitStatus.noInput) }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw CommandFailure(EISDIR, of: path, status: ExitStatus.noInput)
        }
        if status.st_mode & S_IFMT == S_IFIFO, hasName(descriptor), !waitForInput(descriptor, until: deadline) {
            let message = translated("the time limit ran out before anything was written to \(path)")
            throw CommandFailure(OpenURLError(.timedOut, message))
        }
        guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) == 0 else {
            throw CommandFailure(errno, of: path, status: ExitStatus.noInput)
        }
        return file
    }

    /// Whether a pipe has a name. One without a name, which can be opened by way of `/dev/fd`, has had a writer from the
    /// start. The kernel shows it as `pipe:[NUMBER]` (proc(5)).
    private func hasName(_ descriptor: CInt) -> Bool {
        var target = [UInt8](repeating: 0, count: 5)
        let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
        return count != target.count || target != Array("pipe:".utf8)
    }

    private func copy(ofStandardInput descriptor: CInt) throws(CommandFailure) -> UnixFD {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw CommandFailure(errno, of: translated("standard input")) }
        let file = UnixFD(owning: copy)
        // A closed standard input has been replaced by one that cannot be read.
        guard fcntl(copy, F_GETFL) & O_ACCMODE != O_WRONLY else {
            throw CommandFailure(EBADF, of: translated("standard input"))
        }
        return file
    }
}

/// A file in which to save one of the reply's values. It is opened before the URL is sent, and keeps its old contents
/// until the value arrives.
struct SavedValue {
    let key: String
    fileprivate let file: OutputFile

    /// Opens the file.
    ///
    /// - Throws: the failure of a file that cannot be written.
    init(_ file: KeyedFile) throws(CommandFailure) {
        key = file.key
        self.file = try OutputFile(file.path)
    }
}

/// A file for output, which keeps its old contents until it is written.
struct OutputFile {
    /// The file; nil for standard output.
    private let file: (path: String, descriptor: UnixFD)?

    /// Opens a file.
    ///
    /// - Parameter path: the path; nil for standard output.
    /// - Throws: the failure of a file that cannot be written.
    init(_ path: String?) throws(CommandFailure) {
        guard let path else {
            file = nil
            return
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0o666)
        guard descriptor >= 0 else { throw CommandFailure(errno, of: path) }
        file = (path, UnixFD(owning: descriptor))
    }

    /// Replaces the file's contents.
    ///
    /// - Parameters:
    ///   - output: used if the file has no path.
    ///   - body: passes the contents to its argument, which returns whether to continue.
    /// - Throws: the failure if the file cannot be written, and any error from `body`.
    func write(
        _ output: StandardOutput,
        _ body: ((ArraySlice<UInt8>) -> Bool) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        guard let (path, file) = file else {
            var printer = OutputPrinter(output)
            defer { printer.end() }
            return try body { printer.print($0) }
        }
        // A pipe or a device cannot be truncated.
        if ftruncate(file.rawValue, 0) != 0, errno != EINVAL { throw CommandFailure(errno, of: path) }
        var problem: CInt?
        try body { bytes in
            problem = URLOpener.write(bytes, to: file.rawValue)
            return problem == nil
        }
        // Some file systems report a failed write only when a descriptor is closed.
        if problem == nil, close(dup(file.rawValue)) != 0 { problem = errno }
        if let problem { throw CommandFailure(problem, of: path) }
    }
}

extension OpenResult {
    /// Writes one of the reply's values into a file: a string, bytes, or everything that the handler writes into a pipe
    /// or file.
    ///
    /// - Parameters:
    ///   - output: used if the file has no path.
    ///   - deadline: when the handler must have written everything; nil for no limit.
    /// - Throws: `invalidReply` if the reply has no such value, `timedOut`, and the failure if the file cannot be
    ///   written.
    func save(
        _ saved: SavedValue,
        _ output: StandardOutput,
        until deadline: ContinuousClock.Instant?
    ) throws(CommandFailure) {
        guard let value = reply[saved.key] else {
            throw CommandFailure(
                OpenURLError(.invalidReply, translated("the reply from \(handler) has no '\(saved.key)'"))
            )
        }
        try saved.file.write(output) { (write) throws(CommandFailure) in
            try copy(value, saved.key, until: deadline, to: write)
        }
    }

    private func copy(
        _ value: Value,
        _ key: String,
        until deadline: ContinuousClock.Instant?,
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
                guard waitForInput(source.rawValue, until: deadline) else {
                    let message = translated("the time limit ran out while \(handler) was writing '\(key)'")
                    throw CommandFailure(OpenURLError(.timedOut, message))
                }
                let count = read(source.rawValue, &buffer, buffer.count)
                if count < 0, errno == EINTR || errno == EAGAIN { continue }
                guard count >= 0 else { throw CommandFailure(errno, of: translated("'\(key)' of \(handler)")) }
                guard count > 0, write(buffer[..<count]) else { return }
            }
        default:
            let type = value.signature.rawValue
            let message =
                translated(
                    """
                    '\(key)' in the reply from \(handler) has the type '\(type)'; --save writes strings, bytes and open files, and \
                    --json shows every value
                    """
                )
            throw CommandFailure(OpenURLError(.invalidReply, message))
        }
    }
}

extension CommandFailure {
    /// Creates the failure of a file, with the system's error.
    package init(_ code: CInt, of file: String, status: Int32 = ExitStatus.inputOutput) {
        self.init(
            "org.freedesktop.DBus.Error.IOError",
            "\(file): \(systemErrorText(code))",
            exitStatus: status
        )
    }
}

/// Waits until a descriptor has input or has reached its end.
///
/// - Returns: false if the deadline has passed.
private func waitForInput(_ descriptor: CInt, until deadline: ContinuousClock.Instant?) -> Bool {
    while true {
        var milliseconds: CInt = -1
        if let deadline {
            let left = deadline - .now
            guard left > .zero else { return false }
            milliseconds = CInt(clamping: Int64(left / .milliseconds(1)) + 1)
        }
        var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let count = poll(&input, 1, milliseconds)
        // The read that follows reports any other error.
        if count > 0 || count < 0 && errno != EINTR { return true }
    }
}
