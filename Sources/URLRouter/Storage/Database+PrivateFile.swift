internal import CLinux
internal import Glibc
internal import SQLite

extension Database {
    /// How long a change waits for the disk (`PRAGMA synchronous`).
    enum Durability: String {
        /// Each change is on disk, in one write operation, before the call returns.
        case full
        /// If the system crashes, the last changes may be lost.
        case off
    }

    /// Opens one of the router's files, and creates it if it is missing. Only its user may read it.
    convenience init(privateFile path: String, _ durability: Durability) throws(SQLiteError) {
        // SQLite gives its auxiliary files the mode of this file, so no other user can read them either.
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor >= 0 {
            fchmod(descriptor, 0o600)
            close(descriptor)
        }
        try self.init(path: path, .created)
        // The timeout allows for a router that is still exiting.
        try execute(
            """
            PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL;
            PRAGMA synchronous = \(durability.rawValue); PRAGMA cache_size = -256
            """
        )
    }
}
