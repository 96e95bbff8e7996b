internal import CSQLite

/// A connection to one database file, for one thread at a time.
///
/// It is closed once nothing refers to the database or its statements.
public final class Database {
    let handle: OpaquePointer

    /// How to open a file.
    public enum Mode {
        /// The file must exist. If this user may not write to it, it is opened for reading only.
        case existing
        /// The file is created if it does not exist.
        case created
    }

    /// Opens a file without reading it.
    ///
    /// Statements do not wait for locks: if another process is writing to the file, a statement that needs the file
    /// throws an error at once.
    public init(path: String, _ mode: Mode) throws(SQLiteError) {
        let access = SQLITE_OPEN_READWRITE | (mode == .created ? SQLITE_OPEN_CREATE : 0)
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nil)
        guard code == SQLITE_OK, let opened else {
            defer { sqlite3_close_v2(opened) }
            throw SQLiteError(code: code, database: opened)
        }
        handle = opened
    }

    deinit {
        // SQLite closes the file when the last statement is gone.
        sqlite3_close_v2(handle)
    }

    /// Runs statements that return no rows and take no parameters.
    public func execute(_ sql: String) throws(SQLiteError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// Compiles a statement. You can run it any number of times.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(sql, in: self)
    }

    /// The number of rows that the latest `INSERT`, `UPDATE` or `DELETE` changed.
    public var changes: Int { Int(sqlite3_changes(handle)) }

    /// Returns the number that a pragma such as `user_version` returns; 0 if it returns none.
    public func pragma(_ name: String) throws(SQLiteError) -> Int64 {
        let statement = try prepare("PRAGMA \(name)")
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Runs `body` in a transaction. If `body` throws, none of its changes remain.
    public func transaction(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            try body()
            try execute("COMMIT")
        } catch {
            // Some errors have already ended the transaction. In that case, rolling back fails, which does no harm.
            sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
            throw error
        }
    }

    func check(_ code: CInt) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(code: code, database: handle) }
    }
}
