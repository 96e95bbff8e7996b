internal import CSQLite

/// A connection to one database file, for one thread at a time. It is closed when nobody refers to it any more.
public final class Database {
    let handle: OpaquePointer

    /// How a file is opened.
    public enum Mode {
        /// The file has to be there. One that may not be written is opened for reading.
        case existing
        /// The file is made if it is not there.
        case created
    }

    /// Opens a file, without looking at what it holds.
    ///
    /// A file that another process is writing to is not waited for: what needs it throws.
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
        // Closed for good when the last statement is.
        sqlite3_close_v2(handle)
    }

    /// Runs statements that give no rows and take no values.
    public func execute(_ sql: String) throws(SQLiteError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// Compiles one statement, to be run any number of times.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(sql, in: self)
    }

    /// A number that a pragma gives, such as `user_version`.
    public func pragma(_ name: String) throws(SQLiteError) -> Int64 {
        let statement = try prepare("PRAGMA \(name)")
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Does all of something or nothing of it.
    public func transaction(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            try body()
            try execute("COMMIT")
        } catch {
            // Some errors have ended the transaction already, which is all that can be wrong here.
            sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
            throw error
        }
    }

    func check(_ code: CInt) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw SQLiteError(code: code, database: handle) }
    }
}
