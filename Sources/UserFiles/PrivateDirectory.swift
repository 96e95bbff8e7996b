package import Glibc

/// An open directory that belongs to the user, and to which no other user may write.
///
/// Names are looked up in the open directory, so no link can lead a caller to a file elsewhere, whether it is inside
/// the directory or in its place. The directories above may be links, as home directories often are.
package struct PrivateDirectory: ~Copyable {
    /// The descriptor, which is open as long as the value exists.
    package let descriptor: Int32

    /// Opens a directory.
    ///
    /// - Parameters:
    ///   - path: an absolute path.
    ///   - depth: the number of directories at the end of the path that belong to this program. None of them may be a
    ///     link.
    ///   - isMade: whether to create a missing directory, with access for the user only.
    /// - Throws: the reason, worded to follow the path.
    package init(_ path: String, depth: Int = 1, isMade: Bool = false) throws(FileError) {
        let components = UserFiles.names(onPath: path)
        let base = "/" + components.dropLast(depth).joined(separator: "/")
        if isMade { try Self.make(base) }
        var opened = Glibc.open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { throw FileError(code: errno) }
        var place = base
        for name in components.suffix(depth) {
            let parent = opened
            defer { close(parent) }
            place += place == "/" ? "\(name)" : "/\(name)"
            opened = try Self.open(name, in: parent, as: place == path ? "" : place, isMade: isMade)
        }
        descriptor = opened
    }

    deinit {
        close(descriptor)
    }

    private static func make(_ path: String) throws(FileError) {
        do throws(DirectoryError) {
            try makePrivateDirectories(path)
        } catch {
            throw error.error
        }
    }

    /// Opens one of this program's directories.
    ///
    /// - Parameter place: the path of a directory along the way; empty for the last directory.
    private static func open(
        _ name: String,
        in parent: Int32,
        as place: String,
        isMade: Bool
    ) throws(FileError) -> Int32 {
        let subject = place.isEmpty ? "" : "is in \(quotedForShell(place)), which "
        if isMade, mkdirat(parent, name, 0o700) != 0, errno != EEXIST { throw FileError(code: errno) }
        var status = stat()
        // For a link, openat(2) fails as if there were no directory.
        guard fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { throw FileError(code: errno) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw FileError("\(subject)is \(fileTypeName(status)), not a directory")
        }
        let opened = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else { throw FileError(code: errno) }
        do throws(FileError) {
            guard fstat(opened, &status) == 0 else { throw FileError(code: errno) }
            guard status.st_uid == getuid() else { throw FileError("\(subject)belongs to another user") }
            guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
                throw FileError("\(subject)can be changed by other users")
            }
        } catch {
            close(opened)
            throw error
        }
        return opened
    }

    /// Returns the names in the directory that are UTF-8, in byte order, except those that start with a dot.
    package func names() throws(FileError) -> [String] {
        // The new descriptor has its own position in the listing.
        let listing = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard listing >= 0 else { throw FileError(code: errno) }
        guard let stream = fdopendir(listing) else {
            let error = FileError(code: errno)
            close(listing)
            throw error
        }
        return try UserFiles.names(in: stream).compactMap { String(validating: $0, as: UTF8.self) }
    }

    /// Opens one of the user's regular files like open(2), without waiting. A new file is accessible only to the user.
    ///
    /// A file with several hard links is an error, because the other links may be in other directories.
    ///
    /// - Returns: the descriptor, which the caller closes, and the status of the open file.
    package func open(_ name: String, _ flags: Int32) throws(FileError) -> (descriptor: Int32, status: stat) {
        let file = openat(descriptor, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0o600)
        var status = stat()
        guard file >= 0 else {
            let error = FileError(code: errno)
            guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT != S_IFREG
            else {
                throw error
            }
            throw FileError("is \(fileTypeName(status)), not a file")
        }
        do throws(FileError) {
            guard fstat(file, &status) == 0 else { throw FileError(code: errno) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw FileError("is \(fileTypeName(status)), not a file") }
            guard status.st_uid == getuid() else { throw FileError("belongs to another user") }
            guard status.st_nlink <= 1 else { throw FileError("has several hard links") }
        } catch {
            close(file)
            throw error
        }
        return (file, status)
    }

    /// Reads a file of limited size, in bytes, after opening it with `open(_:_:)`.
    package func contents(of name: String, limit: Int) throws(FileError) -> [UInt8] {
        let (file, status) = try open(name, O_RDONLY)
        defer { close(file) }
        return try UserFiles.contents(of: file, size: Int(status.st_size), limit: limit)
    }

    /// Writes a file in one step, replacing any file or link with this name.
    ///
    /// - Parameters:
    ///   - isProgram: whether the user may run the file.
    ///   - isDurable: whether the contents are on disk when this returns. If not, and the machine loses power within
    ///     seconds, the file may be left empty.
    package func replace(
        _ name: String,
        with bytes: [UInt8],
        isProgram: Bool = false,
        isDurable: Bool = false
    ) throws(FileError) {
        let temporary = ".\(name)"
        try remove(temporary)
        let (file, _) = try open(temporary, O_WRONLY | O_CREAT | O_EXCL)
        defer { close(file) }
        do throws(FileError) {
            try write(bytes[...], to: file)
            guard !isProgram || fchmod(file, 0o700) == 0, !isDurable || fsync(file) == 0,
                renameat(descriptor, temporary, descriptor, name) == 0
            else { throw FileError(code: errno) }
        } catch {
            // If it cannot be removed either, the reason is the same, and the next write replaces it.
            unlinkat(descriptor, temporary, 0)
            throw error
        }
        if isDurable { try flushDirectory(descriptor) }
    }

    /// Removes a file or a link, if it exists.
    package func remove(_ name: String) throws(FileError) {
        guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else { throw FileError(code: errno) }
    }
}
