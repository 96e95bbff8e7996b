package import Glibc

/// Returns the status of a directory entry: either the entry's own or, for a link, that of the file to which it leads.
package func status(of path: String, followingLinks: Bool) throws(FileError) -> stat {
    var status = stat()
    let result = followingLinks ? stat(path, &status) : lstat(path, &status)
    guard result == 0 else { throw FileError(code: errno) }
    return status
}

/// Returns whether a path is itself a link.
package func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
}

/// Returns a link's target: the path that it points to.
package func linkTarget(of path: String) throws(FileError) -> String {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &buffer, buffer.count)
    guard count >= 0 else { throw FileError(code: errno) }
    guard let target = String(validating: buffer[..<count], as: UTF8.self) else {
        throw FileError("leads to a path that is not UTF-8")
    }
    return target
}

/// Returns the name of a file's type, for a message.
package func fileTypeName(_ status: stat) -> String {
    switch status.st_mode & S_IFMT {
    case S_IFREG: "a file"
    case S_IFDIR: "a directory"
    case S_IFLNK: "a link"
    case S_IFIFO: "a FIFO"
    case S_IFSOCK: "a socket"
    default: "a device"
    }
}

/// Returns the path with every link resolved.
package func resolvedPath(_ path: String) throws(FileError) -> String {
    guard let resolved = realpath(path, nil) else { throw FileError(code: errno) }
    defer { free(resolved) }
    guard let text = String(validatingCString: resolved) else { throw FileError("leads to a path that is not UTF-8") }
    return text
}

/// Reads a regular file of limited size. Any other kind of file is an error.
///
/// It opens the file without blocking, because a FIFO may take the file's place between two calls. The type and the
/// size are taken from the open file.
///
/// - Parameters:
///   - path: without `followingLinks`, a resolved path. A link at its end is an error.
///   - limit: the maximum size in bytes.
package func contents(ofFile path: String, limit: Int, followingLinks: Bool = false) throws(FileError) -> [UInt8] {
    let (descriptor, status) = try openFile(path, limit: limit, followingLinks: followingLinks)
    defer { close(descriptor) }
    return try contents(of: descriptor, size: Int(status.st_size), limit: limit)
}

/// Reads an open file from its position to its end.
///
/// - Parameters:
///   - size: the expected size of the file in bytes.
///   - limit: the maximum size in bytes.
func contents(of descriptor: Int32, size: Int, limit: Int) throws(FileError) -> [UInt8] {
    // Read one byte more than the size, to find the end of the file. If the file grows, read up to the limit.
    var bytes: [UInt8] = []
    while true {
        let chunk = try read(from: descriptor, atMost: max(min(size, limit) - bytes.count, 0) + 1)
        if chunk.isEmpty { return bytes }
        if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
        guard bytes.count <= limit else { throw tooLarge(limit) }
    }
}

/// Opens a file as ``contents(ofFile:limit:followingLinks:)`` does.
///
/// - Returns: the descriptor, which the caller closes, and the status of the open file.
package func openFile(
    _ path: String,
    limit: Int,
    followingLinks: Bool
) throws(FileError) -> (descriptor: Int32, status: stat) {
    let links = followingLinks ? 0 : O_NOFOLLOW
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | links)
    guard descriptor >= 0 else {
        guard errno == ENXIO else { throw FileError(code: errno) }
        // The path leads either to a socket or to a device without a driver.
        let status = try UserFiles.status(of: path, followingLinks: followingLinks)
        throw FileError("is \(fileTypeName(status)), not a file")
    }
    var status = stat()
    do throws(FileError) {
        guard fstat(descriptor, &status) == 0 else { throw FileError(code: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw FileError("is \(fileTypeName(status)), not a file")
        }
        guard status.st_size <= limit else { throw tooLarge(limit) }
    } catch {
        close(descriptor)
        throw error
    }
    return (descriptor, status)
}

private func tooLarge(_ limit: Int) -> FileError { FileError("is larger than \(limit) bytes") }

private func read(from descriptor: Int32, atMost count: Int) throws(FileError) -> [UInt8] {
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        var result = -1
        repeat { result = Glibc.read(descriptor, buffer.baseAddress, count) } while result < 0 && errno == EINTR
        if result < 0 { failure = errno } else { initialized = result }
    }
    guard failure == 0 else { throw FileError(code: failure) }
    return bytes
}

/// Returns the names in a directory as bytes, in byte order, except those that start with a dot.
///
/// - Returns: `nil` if the directory does not exist.
package func names(inDirectory path: String) throws(FileError) -> [[UInt8]]? {
    guard let stream = opendir(path) else {
        if errno == ENOENT { return nil }
        throw FileError(code: errno)
    }
    return try names(in: stream)
}

/// Reads the names in an open directory, as ``names(inDirectory:)`` does, and closes the directory.
func names(in stream: OpaquePointer) throws(FileError) -> [[UInt8]] {
    defer { closedir(stream) }
    var names: [[UInt8]] = []
    while true {
        errno = 0
        guard let entry = readdir(stream) else {
            if errno != 0 { throw FileError(code: errno) }
            return names.sorted { $0.precedesInByteOrder($1) }
        }
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
        if name.first != UInt8(ascii: ".") { names.append(name) }
    }
}
