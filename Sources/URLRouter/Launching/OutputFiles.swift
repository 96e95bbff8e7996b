internal import Glibc
internal import Logging
internal import Reactor
internal import SystemPackage
internal import UserFiles

/// The files that hold the output of started processes: one file for each identifier.
///
/// A process writes to its file and not to the router, so it can write while no router runs. The router copies the lines to
/// its log. All processes of an identifier share a file, those of an application's commands too, so the number of files is
/// the number of identifiers.
actor OutputFiles {
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let directory: String
    private let loop: EventLoop
    private let log: Logger
    private let limits: OutputFollower.Limits
    private var followers: [String: OutputFollower] = [:]
    private var watch: PathWatch?

    private static let suffix = ".log"

    init(in directory: String, on loop: EventLoop, log: Logger, limits: OutputFollower.Limits) {
        self.directory = directory
        self.loop = loop
        self.log = log
        self.limits = limits
    }

    /// Follows the files of earlier routers from now on: a process of theirs may still write.
    func followExisting() {
        do throws(FileError) {
            let names = (try names(inDirectory: directory) ?? []).compactMap { String(validating: $0, as: UTF8.self) }
            for name in names where name.hasSuffix(Self.suffix) {
                let id = String(name.dropLast(Self.suffix.count))
                var status = stat()
                if lstat(path(of: id), &status) == 0 { follow(id, from: Int64(status.st_size)) }
            }
        } catch {
            log.warning("the output of running handlers is not read: \(printable(directory)): \(error)")
        }
    }

    /// Opens the file of an identifier for a new process.
    ///
    /// - Returns: a descriptor that only appends, which the caller closes, and the place of the process's output.
    func open(_ id: String) throws(FileError) -> (descriptor: CInt, output: ProcessOutput) {
        do throws(DirectoryError) {
            try makePrivateDirectories(directory)
        } catch {
            throw error.error
        }
        let path = path(of: id)
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let descriptor = Glibc.open(path, flags, 0o600)
        guard descriptor >= 0 else { throw FileError(code: errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == getuid() else {
            close(descriptor)
            throw FileError("is not a file of this user")
        }
        // Only the opening must not wait, for a reader of a FIFO.
        _ = fcntl(descriptor, F_SETFL, O_APPEND)
        let start = Int64(status.st_size)
        follow(id, from: start)
        return (descriptor, .file(path, start: start))
    }

    /// Copies the rest of the output after the end of a process. The last line need not have an end.
    func processEnded(_ id: String) {
        followers[id]?.readLastLine()
    }

    private func path(of id: String) -> String { "\(directory)/\(id)\(Self.suffix)" }

    private func follow(_ id: String, from offset: Int64) {
        if watch == nil { startWatch() }
        guard followers[id] == nil else { return }
        let follower = OutputFollower(path(of: id), of: id, from: offset, on: loop, log: log, limits: limits)
        followers[id] = follower
        // A process may have written since the size was read, and the file may be too large already.
        follower.read()
    }

    private func startWatch() {
        do throws(Errno) {
            let watch = try PathWatch(on: loop) { [weak self] in self?.assumeIsolated { $0.readAll() } }
            watch.paths = [directory]
            self.watch = watch
            for failure in watch.failures { log.warning("the output of handlers is copied late: \(failure)") }
        } catch {
            log.warning("the output of handlers is copied late: \(error)")
        }
    }

    private func readAll() {
        for follower in followers.values { follower.read() }
    }
}
