internal import Glibc
package import UserFiles

/// The types of files on this machine, according to the shared MIME database as it was last read.
///
/// Every method blocks while it reads the database's files and the file whose type you ask for.
public struct LocalFileTypes: Sendable {
    private let directories: DesktopDirectories
    private var versions: [FileVersion?] = []
    /// The database as it was last read.
    public private(set) var database = SharedMimeDatabase()

    /// Creates a value that has not read the database.
    public init(_ directories: DesktopDirectories) {
        self.directories = directories
    }

    /// Reads the database if its files have changed since the last time.
    public mutating func update() {
        let current = directories.mimeCacheFiles.map { path -> FileVersion? in
            do throws(FileError) {
                return FileVersion(try status(of: path, followingLinks: true))
            } catch {
                return nil
            }
        }
        guard current != versions else { return }
        database = SharedMimeDatabase(loading: directories)
        versions = current
    }

    /// Returns the type of a file.
    ///
    /// Links are followed. Only a regular file is opened, so this does not wait for a FIFO and does not touch a device.
    /// If a file cannot be read, its name decides.
    ///
    /// - Parameter path: the absolute path as bytes.
    /// - Throws: the error from getting the file's status, for example if there is no such file.
    package func type(ofFile path: [UInt8]) throws(FileError) -> FileTypeGuess {
        let terminated = path.map(CChar.init(bitPattern:)) + [0]
        var status = stat()
        guard stat(terminated, &status) == 0 else { throw FileError(code: errno) }
        if let type = MimeType(ofInode: status) { return FileTypeGuess(type: type, isByName: false) }
        return database.guess(name: Self.name(of: path)) { Self.beginning(of: terminated, atMost: database.extent) }
    }

    /// Returns the type of a file, judging only by its name. The file need not exist.
    public func type(ofName path: [UInt8]) -> FileTypeGuess {
        if path.last == UInt8(ascii: "/") { return FileTypeGuess(type: .directory, isByName: false) }
        return database.guess(name: Self.name(of: path)) { [0] }
    }

    private static func name(of path: [UInt8]) -> [UInt8] {
        path.split(separator: UInt8(ascii: "/")).last.map(Array.init) ?? []
    }

    /// Returns the first bytes of a regular file; fewer if it is shorter, and none if it cannot be read.
    private static func beginning(of path: [CChar], atMost count: Int) -> [UInt8] {
        // Without O_NONBLOCK, the call would block if a FIFO had taken the file's place.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return [0] }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return [0] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while let rest = buffer.baseAddress?.advanced(by: initialized), initialized < count {
                let result = pread(descriptor, rest, count - initialized, off_t(initialized))
                if result < 0, errno == EINTR { continue }
                guard result > 0 else { return }
                initialized += result
            }
        }
    }
}

extension MimeType {
    /// The type of anything but a regular file (Shared MIME-info Specification, "Non-regular files").
    fileprivate init?(ofInode status: stat) {
        let name: String? =
            switch status.st_mode & S_IFMT {
            case S_IFREG: nil
            case S_IFDIR: "directory"
            case S_IFIFO: "fifo"
            case S_IFSOCK: "socket"
            case S_IFCHR: "chardevice"
            case S_IFBLK: "blockdevice"
            default: "symlink"
            }
        guard let name else { return nil }
        self.init("inode/\(name)")
    }
}
