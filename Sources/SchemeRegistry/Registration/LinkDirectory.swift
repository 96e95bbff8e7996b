internal import Glibc
internal import UserFiles

/// Why the directory was not changed.
enum LinkDirectoryError: Error, Hashable {
    /// The entry to remove is a file or a directory, not a link.
    case notALink(entry: String)
    /// A system call failed.
    case file(path: String, FileError)
}

/// The user's directory of handlers, where each registration is a symbolic link.
struct LinkDirectory {
    let path: String

    /// Returns whether a path leads to an entry in this directory, even if it does so through links.
    func contains(_ entry: String) throws(LinkDirectoryError) -> Bool {
        let parent = parentDirectory(of: entry)
        guard let directory = try statusIfPresent(path, followingLinks: true),
            let other = try statusIfPresent(parent.isEmpty ? "/" : parent, followingLinks: true)
        else { return false }
        return directory.st_dev == other.st_dev && directory.st_ino == other.st_ino
    }

    /// Returns the date of the oldest of these links; `nil` if there is none.
    func earliestDate(of names: some Sequence<String>) throws(LinkDirectoryError) -> RegistrationDate? {
        var dates: [RegistrationDate] = []
        for name in names {
            guard let status = try statusIfPresent("\(path)/\(name)", followingLinks: false) else { continue }
            dates.append(RegistrationDate(modificationOf: status))
        }
        return dates.min()
    }

    /// Returns the links that declare an id, with the absolute paths of their targets.
    ///
    /// This includes links that are named after the id, no matter what their targets are, and the link that the
    /// registry found under another name.
    func links(declaring id: BundleIdentifier, previous: Handler?) throws(LinkDirectoryError) -> [String: String] {
        var names: Set<String> = [HandlerForm.bundle.entryName(of: id), HandlerForm.manifest.entryName(of: id)]
        if let previous, previous.entry.hasPrefix("\(path)/") {
            names.insert(String(previous.entry.dropFirst(path.count + 1)))
        }
        var links: [String: String] = [:]
        for name in names {
            let entry = "\(path)/\(name)"
            guard let status = try statusIfPresent(entry, followingLinks: false) else { continue }
            guard status.st_mode & S_IFMT == S_IFLNK else { throw .notALink(entry: entry) }
            links[name] = try target(ofLink: entry)
        }
        return links
    }

    /// Creates a link or replaces its target in one step, and then removes other links.
    ///
    /// If the directory does not exist, this method creates it with access for the user only. All changes are on disk
    /// when the method returns.
    ///
    /// - Parameter date: the date of the registration that the link replaces; `nil` for the current time.
    func link(
        _ name: String,
        to target: String,
        dated date: RegistrationDate?,
        replacing others: [String]
    ) throws(LinkDirectoryError) {
        do throws(DirectoryError) {
            try makePrivateDirectories(path)
        } catch {
            throw .file(path: error.path, error.error)
        }
        do throws(FileError) {
            var trust = TrustedPaths()
            try trust.check(path)
        } catch {
            throw .file(path: path, error)
        }
        let directory = try open()
        defer { close(directory) }
        let temporary = try makeTemporaryLink(to: target, in: directory)
        if let time = date?.time {
            // An error does no harm: the date only decides the order of two handlers that claim one scheme.
            _ = unsafe utimensat(directory, temporary, [time, time], AT_SYMLINK_NOFOLLOW)
        }
        guard unsafe renameat(directory, temporary, directory, name) == 0 else {
            let error = FileError(code: errno)
            unsafe unlinkat(directory, temporary, 0)
            throw .file(path: "\(path)/\(name)", error)
        }
        try remove(others, from: directory)
    }

    /// Removes the links with these names.
    func remove(_ names: [String]) throws(LinkDirectoryError) {
        let directory = try open()
        defer { close(directory) }
        try remove(names, from: directory)
    }

    private func remove(_ names: [String], from directory: Int32) throws(LinkDirectoryError) {
        for name in names where unsafe unlinkat(directory, name, 0) != 0 && errno != ENOENT {
            throw .file(path: "\(path)/\(name)", FileError(code: errno))
        }
        do throws(FileError) {
            try flushDirectory(directory)
        } catch {
            throw .file(path: path, error)
        }
    }

    private func open() throws(LinkDirectoryError) -> Int32 {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file(path: path, FileError(code: errno)) }
        return descriptor
    }

    /// Creates a link under a name that no handler uses and that registry loaders ignore.
    private func makeTemporaryLink(to target: String, in directory: Int32) throws(LinkDirectoryError) -> String {
        while true {
            let name = ".link-\(UInt64.random(in: .min ... .max))"
            if unsafe symlinkat(target, directory, name) == 0 { return name }
            guard errno == EEXIST else { throw .file(path: path, FileError(code: errno)) }
        }
    }

    private func statusIfPresent(_ path: String, followingLinks: Bool) throws(LinkDirectoryError) -> stat? {
        var status = stat()
        let result = unsafe followingLinks ? stat(path, &status) : lstat(path, &status)
        if result == 0 { return status }
        if errno == ENOENT { return nil }
        throw .file(path: path, FileError(code: errno))
    }

    private func target(ofLink entry: String) throws(LinkDirectoryError) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(entry, &buffer, buffer.count)
        guard count >= 0 else { throw .file(path: entry, FileError(code: errno)) }
        let target = String(decoding: buffer[..<count], as: UTF8.self)
        return isAbsolute(target) ? target : "\(path)/\(target)"
    }
}
