internal import Glibc

/// A process's exclusive right to something, which other processes of the user ask for through the same file (flock(2)).
///
/// The right ends with the object, or with the process.
package final class FileLock: Sendable {
    private let descriptor: CInt

    private init(descriptor: CInt) { self.descriptor = descriptor }

    deinit {
        // It would not be enough to close the descriptor: a child that has not executed its own program yet has the
        // descriptor too.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Takes the lock of a file, which is created if it is missing.
    ///
    /// - Returns: nil while another process has the lock.
    package static func take(_ path: String) throws(FileError) -> FileLock? {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileError(code: errno) }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return FileLock(descriptor: descriptor) }
        let code = errno
        close(descriptor)
        guard code == EWOULDBLOCK else { throw FileError(code: code) }
        return nil
    }
}
