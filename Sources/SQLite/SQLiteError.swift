internal import CSQLite

/// An SQLite error.
public struct SQLiteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The extended result code (<https://www.sqlite.org/rescode.html>).
    public let code: CInt
    /// SQLite's error message.
    public let message: String

    /// The error message.
    public var description: String { message }

    /// Whether the file is damaged or not a database.
    public var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) }

    /// Whether a statement does not match the file's tables.
    public var isInvalidStatement: Bool { code & 0xFF == SQLITE_ERROR }

    init(code: CInt, database: OpaquePointer?) {
        self.code = code
        message = String(cString: database.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
    }
}
