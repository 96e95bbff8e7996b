internal import CSQLite

/// A compiled statement. As in SQLite, parameters count from 1 and columns from 0.
public final class Statement {
    private let database: Database
    private let handle: OpaquePointer

    init(_ sql: String, in database: Database) throws(SQLiteError) {
        var prepared: OpaquePointer?
        try database.check(sqlite3_prepare_v3(database.handle, sql, -1, 0, &prepared, nil))
        // If a string contains no statement, SQLite compiles it to nothing.
        guard let prepared else { throw SQLiteError(code: SQLITE_MISUSE, database: nil) }
        self.database = database
        handle = prepared
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// Makes SQLite copy a value. In C, this is `SQLITE_TRANSIENT`, a cast that Swift does not import.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// Sets a parameter to a string.
    public func bind(_ parameter: Int, _ text: String) throws(SQLiteError) {
        // With its length, a string may contain NUL characters.
        let (count, encoding) = (UInt64(text.utf8.count), UInt8(SQLITE_UTF8))
        try database.check(sqlite3_bind_text64(handle, CInt(parameter), text, count, Self.copied, encoding))
    }

    /// Sets a parameter to a number.
    public func bind(_ parameter: Int, _ number: Int64) throws(SQLiteError) {
        try database.check(sqlite3_bind_int64(handle, CInt(parameter), number))
    }

    /// Sets a parameter to bytes.
    public func bind(_ parameter: Int, _ bytes: [UInt8]) throws(SQLiteError) {
        // An empty array may have no address, and SQLite would then store NULL.
        let code = bytes.withUnsafeBytes {
            $0.isEmpty
                ? sqlite3_bind_zeroblob(handle, CInt(parameter), 0)
                : sqlite3_bind_blob64(handle, CInt(parameter), $0.baseAddress, UInt64($0.count), Self.copied)
        }
        try database.check(code)
    }

    /// Sets a parameter to no value.
    public func bindNull(_ parameter: Int) throws(SQLiteError) {
        try database.check(sqlite3_bind_null(handle, CInt(parameter)))
    }

    /// Advances to the next row.
    ///
    /// - Returns: Whether there is another row. After the last row, you can run the statement again with the same
    ///   parameters.
    public func step() throws(SQLiteError) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        case let code:
            let error = SQLiteError(code: code, database: database.handle)
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Returns the number in a column of the current row; 0 if there is none.
    public func integer(_ column: Int) -> Int64 {
        sqlite3_column_int64(handle, CInt(column))
    }

    /// Returns the text in a column of the current row; empty if there is none. Invalid UTF-8 is replaced.
    public func text(_ column: Int) -> String {
        guard let text = sqlite3_column_text(handle, CInt(column)) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, CInt(column)))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// Calls `body` with the bytes in a column of the current row, or with no bytes if the column is empty. The bytes
    /// are valid only during the call.
    public func withBytes<Result>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let bytes = sqlite3_column_blob(handle, CInt(column))
        let count = Int(sqlite3_column_bytes(handle, CInt(column)))
        return body(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }
}
