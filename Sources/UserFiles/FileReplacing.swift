package import Glibc

/// Why a file was not written.
///
/// The file is left unchanged, with one exception: if only the last step fails, which writes the file's new name to
/// disk, the file has its new contents, but they may be lost if the machine loses power.
public struct FileWriteError: Error, Hashable, CustomStringConvertible {
    /// The file or directory.
    public let file: String
    /// The reason, worded to follow the file's name.
    public let reason: String
    /// Whether the reason is a temporary one (`FileError.isTemporary`).
    package let isTemporary: Bool

    /// `file: reason` in printable ASCII.
    public var description: String { "\(printable(file)): \(reason)" }

    package init(_ file: String, _ reason: String) {
        self.file = file
        self.reason = reason
        isTemporary = false
    }

    /// Creates the error for a step that failed.
    ///
    /// - Parameter step: the file's part in a message, such as "cannot be written"; nil if the error needs none.
    package init(_ file: String, _ error: FileError, _ step: String? = nil) {
        self.file = file
        reason = step.map { "\($0): \(error)" } ?? error.reason
        isTemporary = error.isTemporary
    }
}

/// Writes a file in one step: even after a crash, a reader finds either the old contents or the new ones.
///
/// An existing file keeps its mode. A link where the file should be is an error, because it may lead to another
/// program's file. If the file already has these contents, it is not touched. Missing directories are created, as
/// ``makePrivateDirectories(_:)`` does.
///
/// - Parameters:
///   - followingLinks: whether a link at the path is kept and the user's file to which it leads is replaced, as in
///     GLib. Many users keep the files that they edit by hand in another place, and link to them.
///   - mode: the mode of a new file, before the process's mask is applied.
///   - isDurable: whether the contents are on disk when this returns. If not, and the machine loses power within
///     seconds, the file may be left full of zeros. Take that risk only for a file that can be re-created.
package func replaceFile(
    _ path: String,
    with bytes: [UInt8],
    mode: mode_t = 0o644,
    isDurable: Bool = true,
    followingLinks: Bool = false
) throws(FileWriteError) {
    let (target, old) = try replacedFile(path, followingLinks: followingLinks)
    if let old, old.st_size == bytes.count, isUnchanged(target, bytes) { return }
    let replacement = Replacement(target: target, old: old, size: bytes.count, mode: mode, isDurable: isDurable)
    _ = try replacement.write { (file) throws(FileError) in
        try write(bytes[...], to: file)
    }
}

/// Writes a large file that can be re-created, as `replaceFile` does, but without waiting for the disk. The new
/// contents always count as changed.
///
/// - Parameters:
///   - size: the number of bytes that `write` writes.
///   - write: writes the contents to an open file.
/// - Returns: the version of the new file.
package func replaceDerivedFile(
    _ path: String,
    size: Int,
    _ write: (Int32) throws(FileError) -> Void
) throws(FileWriteError) -> FileVersion {
    let (target, old) = try replacedFile(path, followingLinks: false)
    return try Replacement(target: target, old: old, size: size, mode: 0o644, isDurable: false).write(write)
}

/// Removes a file or a link, if it exists.
package func removeFile(_ path: String) throws(FileWriteError) {
    guard unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR else {
        throw FileWriteError(path, FileError(code: errno), "cannot be removed")
    }
}

/// Reads a file that is about to be changed.
///
/// - Returns: `nil` if the file does not exist.
package func contents(ofChangedFile path: String, limit: Int) throws(FileWriteError) -> [UInt8]? {
    do throws(FileError) {
        return try contents(ofFile: path, limit: limit, followingLinks: true)
    } catch {
        if error.isAbsence { return nil }
        throw FileWriteError(path, error)
    }
}

/// Writes all of these bytes to an open file.
package func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) throws(FileError) {
    var rest = bytes
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        if count < 0, errno == EAGAIN {
            // Standard output is non-blocking if another program with the same open file has made it so.
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&ready, 1, -1)
            continue
        }
        guard count >= 0 else { throw FileError(code: errno) }
        rest = rest.dropFirst(count)
    }
}

/// Writes an open directory's new names to disk.
///
/// Some file systems cannot do this, such as several for FUSE and CIFS. Nothing more can be done there, so it is not an
/// error.
package func flushDirectory(_ descriptor: Int32) throws(FileError) {
    guard fsync(descriptor) == 0 || errno == EINVAL || errno == EOPNOTSUPP else { throw FileError(code: errno) }
}

/// A file that replaces another.
private struct Replacement {
    /// The path, with any link at its end resolved.
    let target: String
    /// The old file's status; `nil` if there is none.
    let old: stat?
    /// Number of bytes that will be written.
    let size: Int
    /// The mode of a new file.
    let mode: mode_t
    let isDurable: Bool

    /// Writes the contents to a file with a temporary name, and then renames the file.
    func write(_ write: (Int32) throws(FileError) -> Void) throws(FileWriteError) -> FileVersion {
        let directory = parentDirectory(of: target)
        do throws(DirectoryError) {
            try makePrivateDirectories(directory)
        } catch {
            throw FileWriteError(error.path, error.error, "cannot be made")
        }
        let (temporary, descriptor) = try temporaryFile(in: directory)
        defer { close(descriptor) }
        do throws(FileError) {
            try fill(descriptor, write)
        } catch {
            unlink(temporary)
            throw FileWriteError(target, error, "cannot be written")
        }
        guard rename(temporary, target) == 0 else {
            let error = FileError(code: errno)
            unlink(temporary)
            throw FileWriteError(target, error, "cannot be replaced")
        }
        do throws(FileError) {
            if isDurable { try flush(directory) }
        } catch {
            throw FileWriteError(target, error, "cannot be made durable")
        }
        // Read the version last, because renaming the file changes it. An open file always has a status.
        var status = stat()
        fstat(descriptor, &status)
        return FileVersion(status)
    }

    private func flush(_ directory: String) throws(FileError) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(code: errno) }
        defer { close(descriptor) }
        try flushDirectory(descriptor)
    }

    private func fill(_ descriptor: Int32, _ write: (Int32) throws(FileError) -> Void) throws(FileError) {
        if let old, fchmod(descriptor, old.st_mode & 0o7777) != 0 { throw FileError(code: errno) }
        guard !isDurable else {
            try write(descriptor)
            guard fsync(descriptor) == 0 else { throw FileError(code: errno) }
            return
        }
        // If no blocks are reserved, ext4 writes out the contents when the file takes its name, and the rename waits
        // for the disk. On a file system that cannot reserve blocks, only time is lost.
        _ = posix_fallocate(descriptor, 0, off_t(size))
        try write(descriptor)
    }

    /// Creates an empty file. Its name begins with a dot, so readers of the directory do not mistake it for an entry.
    private func temporaryFile(in directory: String) throws(FileWriteError) -> (path: String, descriptor: Int32) {
        let name = target.dropFirst(directory.count + 1).prefix(100)
        while true {
            let path = "\(directory)/.\(name).\(String(UInt64.random(in: 0 ... .max), radix: 36))"
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
            if descriptor >= 0 { return (path, descriptor) }
            guard errno == EEXIST else {
                throw FileWriteError(directory, FileError(code: errno), "cannot be written to")
            }
        }
    }
}

/// Returns the path of the file to replace, with a link resolved, and its status if it exists.
private func replacedFile(
    _ path: String,
    followingLinks: Bool
) throws(FileWriteError) -> (path: String, status: stat?) {
    do throws(FileError) {
        let found = try status(of: path, followingLinks: false)
        let isLink = found.st_mode & S_IFMT == S_IFLNK
        guard followingLinks || !isLink else { throw FileError("is a link, which is not followed; remove it") }
        let target = isLink ? try resolvedPath(path) : path
        let targetStatus = try status(of: target, followingLinks: true)
        guard targetStatus.st_mode & S_IFMT == S_IFREG else {
            throw FileError("is \(fileTypeName(targetStatus)), not a file")
        }
        guard !isLink || targetStatus.st_uid == geteuid() else {
            throw FileError("is a link to a file of another user")
        }
        return (target, targetStatus)
    } catch {
        guard error.isAbsence else { throw FileWriteError(path, error) }
        var status = stat()
        guard lstat(path, &status) == 0 else { return (path, nil) }
        throw FileWriteError(path, "is a link to something that does not exist")
    }
}

private func isUnchanged(_ path: String, _ bytes: [UInt8]) -> Bool {
    do throws(FileError) {
        return try contents(ofFile: path, limit: bytes.count, followingLinks: true) == bytes
    } catch {
        // Either the file cannot be read, or it has grown. It is safe to write it.
        return false
    }
}
