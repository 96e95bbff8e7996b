internal import CLinux
internal import Desktop
internal import Glibc
internal import Logging
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// Files that hold the output of started processes: one for each handler, and one for the commands of each application.
///
/// Processes write to these files and not to the router, so they can write while no router is running. The router
/// copies the lines to its log. The files belong to the user, so they are not deleted. A file is followed as long as a
/// process may write to it: the router knows this about its own processes, and each process holds a lock on its file,
/// which tells later routers.
///
/// If the directory is a link, or if other users may write to it, it is not used.
actor OutputFiles {
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let directory: String
    private let loop: EventLoop
    private let log: Logger
    private let limits: OutputFollower.Limits
    private let urls: RecentURLs
    private var followers: [String: OutputFollower] = [:]
    private var watch: PathWatch?

    private static let suffix = ".log"

    init(in directory: String, on loop: EventLoop, log: Logger, limits: OutputFollower.Limits, _ urls: RecentURLs) {
        self.directory = directory
        self.loop = loop
        self.log = log
        self.limits = limits
        self.urls = urls
    }

    /// Identifiers whose files are followed, in order.
    var followed: [String] { followers.keys.sorted() }

    /// Follows earlier routers' files from now on, because their processes may still write to them.
    func followExisting() {
        do throws(FileError) {
            let directory = try PrivateDirectory(directory, depth: 2)
            for name in try directory.names() where name.hasSuffix(Self.suffix) {
                let id = String(name.dropLast(Self.suffix.count))
                if isIdentifier(id), let size = size(of: name, in: directory) { follow(id, from: size, isOwn: false) }
            }
        } catch {
            if error.isAbsence { return }
            log.warning("the output of running handlers cannot be read: \(printable(directory)) \(error)")
        }
    }

    private func size(of name: String, in directory: borrowing PrivateDirectory) -> Int64? {
        do throws(FileError) {
            let (descriptor, status) = try directory.open(name, O_RDONLY)
            close(descriptor)
            return Int64(status.st_size)
        } catch {
            log.debug("the output of a handler cannot be read: \(printable(name)) \(error)")
            return nil
        }
    }

    /// The path of the file for an identifier.
    nonisolated func path(of id: String) -> String { "\(directory)/\(id)\(Self.suffix)" }

    /// Opens the file for an identifier on behalf of a new process.
    ///
    /// - Returns: a descriptor that only appends, which the caller must close, and where the process's output goes.
    func open(_ id: String) throws(FileError) -> (descriptor: CInt, output: ProcessOutput) {
        let name = id + Self.suffix
        let (descriptor, status) = try open().open(name, O_WRONLY | O_APPEND | O_CREAT)
        // The open call must not block, in case the file is a FIFO without a reader; write calls may.
        _ = fcntl(descriptor, F_SETFL, O_APPEND)
        OutputFollower.lock(descriptor)
        let start = Int64(status.st_size)
        follow(id, from: start, isOwn: true)
        return (descriptor, .file(path(of: id), start: start))
    }

    private func open() throws(FileError) -> PrivateDirectory {
        do throws(FileError) {
            return try PrivateDirectory(directory, depth: 2, isMade: true)
        } catch {
            throw FileError("cannot be opened: \(printable(directory)) \(error)")
        }
    }

    /// Copies the rest of the output after a process has exited. The last line need not be terminated.
    ///
    /// - Parameter isOwn: whether the file was opened for the process.
    func processEnded(_ id: String, isOwn: Bool) {
        followers[id]?.processEnded(isOwn: isOwn)
    }

    /// - Parameter isOwn: whether the file is opened for a process.
    private func follow(_ id: String, from offset: Int64, isOwn: Bool) {
        if watch == nil { startWatch() }
        let follower =
            followers[id]
            ?? OutputFollower(
                directory,
                id + Self.suffix,
                of: id,
                from: offset,
                on: loop,
                log: log,
                limits: limits,
                withoutSecrets: { [urls] text in urls.assumeIsolated { $0.redacting(text, of: id) } },
                onEnd: { [weak self] in self?.assumeIsolated { $0.followers[id] = nil } }
            )
        followers[id] = follower
        if isOwn { follower.processStarts() }
        // A process may have written since the size was read, so the file may already be too large.
        follower.read()
    }

    private func startWatch() {
        do throws(Errno) {
            let watch = try PathWatch(on: loop) { [weak self] in self?.assumeIsolated { $0.readAll() } }
            watch.paths = [directory]
            self.watch = watch
            for failure in watch.failures {
                log.warning("the output of handlers will be copied with a delay: \(failure)")
            }
        } catch {
            log.warning("the output of handlers will be copied with a delay: \(error)")
        }
    }

    private func readAll() {
        for follower in followers.values { follower.read() }
    }
}

/// Returns whether a string is a handler's or an application's identifier, so that a file may be named after it.
private func isIdentifier(_ text: String) -> Bool {
    if DesktopFileID(rawValue: text) != nil { return true }
    do throws(BundleIdentifier.ParseError) {
        _ = try BundleIdentifier(text)
        return true
    } catch {
        return false
    }
}
