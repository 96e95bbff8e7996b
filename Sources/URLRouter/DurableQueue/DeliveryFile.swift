internal import CLinux
internal import Glibc
internal import Reactor
internal import SQLite
internal import UserFiles

/// A ``DeliveryStore``'s file. Only its user may read it, and when a method returns, the change that it has made is on
/// disk.
struct DeliveryFile: Sendable {
    let path: String

    /// Version of the tables.
    private static let schemaVersion: Int64 = 6

    /// The first delivery's number, which is the current time. Because handlers recognise a repeated delivery by its
    /// number, a new file must not reuse the numbers from a file that was lost.
    private static var firstNumber: Int64 { WallClock.milliseconds }

    /// Returns whether the file exists. It is an error if a link is there instead, or if other users may change its
    /// directory.
    func isThere() throws(DeliveryStoreError) -> Bool {
        if isLink(path) { throw failure("it is a link, which is not followed; remove it") }
        if access(directory, F_OK) == 0 { try checkDirectory() }
        if access(path, F_OK) == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw failure("\(FileError(code: errno))") }
        return false
    }

    /// Opens the file. If it is missing, creates it with its directories.
    ///
    /// - Returns: Nil if a later version of the program created the file.
    func open() throws(SQLiteError) -> Database? {
        let database = try Database(privateFile: path, .full)
        var isKnown = false
        try database.transaction { () throws(SQLiteError) in
            // Another process may be creating or changing the tables at the same time.
            let version = try database.pragma("user_version")
            isKnown = version <= Self.schemaVersion
            if version == 0 { try create(in: database) }
            if version == 1 {
                try database.execute("ALTER TABLE deliveries ADD COLUMN caller TEXT NOT NULL DEFAULT ''")
            }
            if version > 0, version < 3 {
                try database.execute("ALTER TABLE deliveries ADD COLUMN name TEXT NOT NULL DEFAULT ''")
                try database.execute(Self.replies)
            }
            if version > 0, version < 4 { try database.execute(Self.addSchedules) }
            if version > 0, version < 5 { try database.execute("\(Self.addHosts); \(Self.identity)") }
            if version > 0, version < 6 { try database.execute(Self.addNonce) }
            if version < Self.schemaVersion { try database.execute("PRAGMA user_version = \(Self.schemaVersion)") }
        }
        return isKnown ? database : nil
    }

    /// Adds the columns of a ``DeliverySchedule``, and the text of the notification. They are empty for a delivery that
    /// has neither.
    private static let addSchedules =
        """
        ALTER TABLE deliveries ADD COLUMN at TEXT NOT NULL DEFAULT '';
        ALTER TABLE deliveries ADD COLUMN every TEXT NOT NULL DEFAULT '';
        ALTER TABLE deliveries ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE deliveries ADD COLUMN notify TEXT NOT NULL DEFAULT ''
        """

    /// Adds the lifetime of a delivery, the time when it expires, its round, and the table of the requests from other hosts
    /// (``ReceivedRequests``).
    ///
    /// The round counts how often a delivery that had failed for good was given new attempts.
    private static let addHosts =
        """
        ALTER TABLE deliveries ADD COLUMN lifetime INTEGER;
        ALTER TABLE deliveries ADD COLUMN expires INTEGER;
        ALTER TABLE deliveries ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE received (
            origin TEXT NOT NULL,
            name TEXT NOT NULL,
            id INTEGER NOT NULL,
            digest INTEGER NOT NULL,
            arrived INTEGER NOT NULL,
            outcome BLOB,
            PRIMARY KEY (origin, name)
        ) WITHOUT ROWID;
        CREATE INDEX received_by_id ON received (id);
        CREATE INDEX received_by_time ON received (arrived)
        """

    /// Adds the part of the name of a request to another host that nobody can guess. It is empty for every other delivery.
    private static let addNonce = "ALTER TABLE deliveries ADD COLUMN nonce TEXT NOT NULL DEFAULT ''"

    /// The name of this file among all files of all hosts. Other hosts remember requests by this name and a delivery's number,
    /// and the numbers alone could be used again by another file.
    private static var identity: String {
        var generator = SystemRandomNumberGenerator()
        let name = String(generator.next(), radix: 36)
        return "CREATE TABLE identity (name TEXT NOT NULL); INSERT INTO identity VALUES ('\(name)')"
    }

    /// Table of the replies to deliveries. Each reply has its delivery's number.
    private static let replies =
        "CREATE TABLE replies (id INTEGER PRIMARY KEY, caller TEXT NOT NULL, ended INTEGER NOT NULL, reply BLOB NOT NULL)"

    private func create(in database: Database) throws(SQLiteError) {
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
                message TEXT,
                caller TEXT NOT NULL DEFAULT '',
                name TEXT NOT NULL DEFAULT ''
            );
            \(Self.addSchedules);
            \(Self.replies);
            \(Self.addHosts);
            \(Self.identity);
            \(Self.addNonce);
            INSERT INTO sqlite_sequence VALUES ('deliveries', \(Self.firstNumber))
            """
        )
    }

    /// Renames a damaged file, so that a new one can take its place.
    ///
    /// - Returns: The new name.
    func setAside() throws(DeliveryStoreError) -> String {
        let kept = "\(path).damaged-\(Self.firstNumber)"
        // The file with the suffix `-wal` contains the latest changes.
        for suffix in ["-wal", "-shm", ""] where rename(path + suffix, kept + suffix) != 0 && errno != ENOENT {
            throw failure("\(FileError(code: errno))")
        }
        return kept
    }

    /// Acquires the right to deliver the file's URLs. Only one process at a time has this right, until it gives the
    /// right back or exits.
    ///
    /// - Returns: The right; nil while another process has it.
    func lock() throws(DeliveryStoreError) -> FileLock? {
        try makeDirectory()
        do throws(FileError) {
            return try FileLock.take("\(path).lock")
        } catch {
            throw failure("\(error)")
        }
    }

    private var directory: String { parentDirectory(of: path) }

    /// Makes the directory of the file, if it is missing.
    func makeDirectory() throws(DeliveryStoreError) { try checkDirectory(isMade: true) }

    /// Checks that the directory belongs to the user, and that no other user may put files into it.
    private func checkDirectory(isMade: Bool = false) throws(DeliveryStoreError) {
        do throws(FileError) {
            _ = try PrivateDirectory(directory, isMade: isMade)
        } catch {
            throw failure(error.clause(about: "its directory"))
        }
    }

    private func failure(_ reason: String) -> DeliveryStoreError {
        DeliveryStoreError(path: path, reason: reason)
    }
}
