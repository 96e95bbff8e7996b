internal import Glibc
internal import SQLite
internal import UserFiles

/// The file of a ``DeliveryStore``: made for its user alone, and every change on the disk when it returns.
struct DeliveryFile: Sendable {
    let path: String

    /// Number of the tables' form.
    private static let schemaVersion: Int64 = 1

    /// Numbers begin where the time is, so that they are not given again in the place of a file that was lost: handlers know
    /// by them what they have had.
    private static var firstNumber: Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// Whether there is one.
    func isThere() throws(DeliveryStoreError) -> Bool {
        if access(path, F_OK) == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw failure("\(FileError(code: errno))") }
        return false
    }

    /// Opens the file; makes it, and what is missing above it, if it is not there.
    ///
    /// - Returns: nil for the file of a later version of the program.
    func open() throws(SQLiteError) -> Database? {
        makeDirectory()
        // SQLite gives its own files the mode of this one; what is in them is nobody else's business.
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            fchmod(descriptor, 0o600)
            close(descriptor)
        }
        let database = try Database(path: path, .created)
        // One write to the disk for each change, before it returns. A router that is ending writes for a moment longer.
        try database.execute("PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        let version = try database.pragma("user_version")
        guard version <= Self.schemaVersion else { return nil }
        if version == 0 {
            try database.transaction { () throws(SQLiteError) in
                try database.execute(
                    """
                    CREATE TABLE deliveries (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        url TEXT NOT NULL,
                        handler TEXT NOT NULL,
                        request BLOB NOT NULL,
                        accepted INTEGER NOT NULL,
                        due INTEGER,
                        attempts INTEGER NOT NULL,
                        error TEXT,
                        message TEXT
                    );
                    INSERT INTO sqlite_sequence VALUES ('deliveries', \(Self.firstNumber));
                    PRAGMA user_version = \(Self.schemaVersion)
                    """
                )
            }
        }
        return database
    }

    /// Gives a file that is damaged another name, so that a new one can take its place.
    ///
    /// - Returns: the name.
    func setAside() throws(DeliveryStoreError) -> String {
        let kept = "\(path).damaged-\(Self.firstNumber)"
        // What was written last is in the file beside it.
        for suffix in ["-wal", "-shm", ""] where rename(path + suffix, kept + suffix) != 0 && errno != ENOENT {
            throw failure("\(FileError(code: errno))")
        }
        return kept
    }

    /// Takes the right to deliver what is in the file, which one process has until it gives it back or ends.
    ///
    /// - Returns: the descriptor that holds it; nil while another process does.
    func lock() throws(DeliveryStoreError) -> CInt? {
        makeDirectory()
        let descriptor = Glibc.open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("\(FileError(code: errno))") }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return descriptor }
        let code = errno
        close(descriptor)
        guard code == EWOULDBLOCK else { throw failure("\(FileError(code: code))") }
        return nil
    }

    /// Makes the directory of the file.
    private func makeDirectory() {
        do throws(DirectoryError) {
            try makePrivateDirectories(parentDirectory(of: path))
        } catch {
            // Opening the file fails next, and reports the reason.
        }
    }

    private func failure(_ reason: String) -> DeliveryStoreError {
        DeliveryStoreError(path: path, reason: reason)
    }
}
