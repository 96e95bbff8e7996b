internal import Glibc

/// Why a file was not written: it is as it was before.
public struct FileWriteError: Error, Hashable, CustomStringConvertible {
    /// The file or directory.
    public let file: String
    /// The reason, to be read after the file.
    public let reason: String

    /// `file: reason` in printable ASCII.
    public var description: String { "\(printable(file)): \(reason)" }

    package init(_ file: String, _ reason: String) {
        self.file = file
        self.reason = reason
    }
}

/// Puts a file with new contents in the place of an old one, or where there was none, in one step: whoever reads it, and
/// whoever comes after a crash, finds the old contents or the new.
///
/// The mode of the old file is kept. A link is followed, as GLib does it, and stays: configuration that lives elsewhere
/// goes on living there. A file that holds these contents already is not touched. Missing directories are made, with
/// the mode that the XDG Base Directory Specification gives them.
///
/// - Parameter isDurable: whether it is on the disk when this returns. What can be made anew need not be: a machine that loses
///   its power within seconds may then be left with a file of zeros.
package func replaceFile(_ path: String, with bytes: [UInt8], isDurable: Bool = true) throws(FileWriteError) {
    let (target, old) = try replacedFile(path)
    if let old, old.st_size == bytes.count, isUnchanged(target, bytes) { return }
    _ = try replaceFile(target, old, size: bytes.count, isDurable: isDurable) { (file) throws(FileError) in
        try write(bytes[...], to: file)
    }
}

/// Puts a file of megabytes that can be made anew, and differs for sure, in the place of an old one, as
/// ``replaceFile(_:with:isDurable:)`` does; it is not waited for.
///
/// - Parameters:
///   - size: how much it will hold.
///   - write: writes that to an open file.
/// - Returns: the file as it is now.
package func replaceDerivedFile(
    _ path: String,
    size: Int,
    _ write: (Int32) throws(FileError) -> Void
) throws(FileWriteError) -> FileVersion {
    let (target, old) = try replacedFile(path)
    return try replaceFile(target, old, size: size, isDurable: false, write)
}

private func replaceFile(
    _ target: String,
    _ old: stat?,
    size: Int,
    isDurable: Bool,
    _ write: (Int32) throws(FileError) -> Void
) throws(FileWriteError) -> FileVersion {
    let directory = parentDirectory(of: target)
    let name = target.dropFirst(directory.count + 1)
    do throws(DirectoryError) {
        try makePrivateDirectories(directory)
    } catch {
        throw FileWriteError(error.path, "cannot be made: \(error.error)")
    }

    let (temporary, descriptor) = try temporaryFile(in: directory, for: name)
    defer { close(descriptor) }
    do throws(FileError) {
        if let old, fchmod(descriptor, old.st_mode & 0o7777) != 0 { throw FileError(code: errno) }
        if isDurable {
            try write(descriptor)
            guard fsync(descriptor) == 0 else { throw FileError(code: errno) }
        } else {
            // Of blocks that are to be found yet, ext4 would write the contents out when the file takes its name. Without
            // them it is written all the same.
            _ = posix_fallocate(descriptor, 0, off_t(size))
            try write(descriptor)
        }
    } catch {
        unlink(temporary)
        throw FileWriteError(target, "cannot be written: \(error.reason)")
    }
    guard rename(temporary, target) == 0 else {
        let error = FileError(code: errno)
        unlink(temporary)
        throw FileWriteError(target, "cannot be replaced: \(error.reason)")
    }
    // Taking its name was a change of it. Of an open file there is always a status.
    var status = stat()
    fstat(descriptor, &status)
    return FileVersion(status)
}

/// Removes a file or a link, if there is one.
package func removeFile(_ path: String) throws(FileWriteError) {
    guard unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR else {
        throw FileWriteError(path, "cannot be removed: \(FileError(code: errno).reason)")
    }
}

/// The contents of a file that is to be changed; `nil` if there is none.
package func contents(ofChangedFile path: String, limit: Int) throws(FileWriteError) -> [UInt8]? {
    do throws(FileError) {
        return try contents(ofFile: path, limit: limit, followingLinks: true)
    } catch {
        if error == FileError(code: ENOENT) || error == FileError(code: ENOTDIR) { return nil }
        throw FileWriteError(path, error.reason)
    }
}

/// The file that is to be replaced, with links resolved, and its status if it exists.
private func replacedFile(_ path: String) throws(FileWriteError) -> (path: String, status: stat?) {
    do throws(FileError) {
        let found = try status(of: path, followingLinks: false)
        let target = found.st_mode & S_IFMT == S_IFLNK ? try resolvedPath(path) : path
        let targetStatus = try status(of: target, followingLinks: true)
        guard targetStatus.st_mode & S_IFMT == S_IFREG else {
            throw FileError("is \(fileTypeName(targetStatus)), not a file")
        }
        return (target, targetStatus)
    } catch {
        var status = stat()
        if error == FileError(code: ENOENT) || error == FileError(code: ENOTDIR) {
            guard lstat(path, &status) == 0 else { return (path, nil) }
            throw FileWriteError(path, "is a link to something that does not exist")
        }
        throw FileWriteError(path, error.reason)
    }
}

private func isUnchanged(_ path: String, _ bytes: [UInt8]) -> Bool {
    do throws(FileError) {
        return try contents(ofFile: path, limit: bytes.count, followingLinks: true) == bytes
    } catch {
        // It cannot be read, or has grown: what is to be written differs from it as far as anybody can tell.
        return false
    }
}

/// Makes a file that nobody takes for an entry. The mode is the usual one, which the process's mask applies to.
private func temporaryFile(
    in directory: String,
    for name: some StringProtocol
) throws(FileWriteError) -> (path: String, descriptor: Int32) {
    while true {
        let path = "\(directory)/.\(name.prefix(100)).\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
        if descriptor >= 0 { return (path, descriptor) }
        guard errno == EEXIST else {
            throw FileWriteError(directory, "cannot be written to: \(FileError(code: errno).reason)")
        }
    }
}

/// Writes all of some bytes to an open file.
package func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) throws(FileError) {
    var rest = bytes
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw FileError(code: errno) }
        rest = rest.dropFirst(count)
    }
}
