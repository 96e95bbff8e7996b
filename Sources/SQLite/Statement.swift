internal import CSQLite

/// One compiled statement. Parameters count from 1, columns from 0, as in SQLite.
public final class Statement {
    private let database: Database
    private let handle: OpaquePointer

    init(_ sql: String, in database: Database) throws(SQLiteError) {
        var prepared: OpaquePointer?
        try database.check(sqlite3_prepare_v3(database.handle, sql, -1, 0, &prepared, nil))
        // Text without a statement compiles to nothing.
        guard let prepared else { throw SQLiteError(code: SQLITE_MISUSE, database: nil) }
        self.database = database
        handle = prepared
    }

    deinit {
        sqlite3_finalize(handle)
    }

    /// SQLite copies the value. The corresponding C constant is `SQLITE_TRANSIENT`, a cast that Swift does not import.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    /// Sets a parameter to a text.
    public func bind(_ parameter: Int, _ text: String) throws(SQLiteError) {
        try database.check(sqlite3_bind_text(handle, CInt(parameter), text, -1, Self.copied))
    }

    /// Sets a parameter to a number.
    public func bind(_ parameter: Int, _ number: Int64) throws(SQLiteError) {
        try database.check(sqlite3_bind_int64(handle, CInt(parameter), number))
    }

    /// Sets a parameter to bytes.
    public func bind(_ parameter: Int, _ bytes: [UInt8]) throws(SQLiteError) {
        // An empty array may have no address, which would mean null.
        let code = bytes.withUnsafeBytes {
            $0.isEmpty
                ? sqlite3_bind_zeroblob(handle, CInt(parameter), 0)
                : sqlite3_bind_blob64(handle, CInt(parameter), $0.baseAddress, UInt64($0.count), Self.copied)
        }
        try database.check(code)
    }

    /// Goes on to the next row.
    ///
    /// - Returns: whether there is one. After the last one the statement can be run again; parameters stay as they are.
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

    /// The number in a column of the current row; 0 where there is none.
    public func integer(_ column: Int) -> Int64 {
        sqlite3_column_int64(handle, CInt(column))
    }

    /// The text in a column of the current row, with what is not UTF-8 replaced; empty where there is none.
    public func text(_ column: Int) -> String {
        guard let text = sqlite3_column_text(handle, CInt(column)) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, CInt(column)))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// Lends the bytes in a column of the current row; none where there are none.
    public func withBytes<Result>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let bytes = sqlite3_column_blob(handle, CInt(column))
        let count = Int(sqlite3_column_bytes(handle, CInt(column)))
        return body(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }
}
