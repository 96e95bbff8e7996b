internal import Logging
internal import SQLite
internal import UserFiles

/// The open file of a ``DeliveryStore``, which is opened when it is first used.
///
/// It belongs to the store's actor.
final class DeliveryDatabase {
    private let file: DeliveryFile
    private let log: Logger
    private var database: Database?

    init(_ file: DeliveryFile, log: Logger) {
        self.file = file
        self.log = log
    }

    /// Whether the file exists.
    func isThere() throws(DeliveryStoreError) -> Bool {
        if database != nil { return true }
        return try file.isThere()
    }

    /// Uses the file, which is created if it does not exist. After an error, the next use opens it again. If it is damaged,
    /// it is kept under another name, and the next use creates a new one.
    func use<Result>(_ body: (Database) throws(SQLiteError) -> Result) throws(DeliveryStoreError) -> Result {
        // If there is a link where the file should be, this reports an error before SQLite follows the link.
        _ = try isThere()
        if database == nil { try file.makeDirectory() }
        do throws(SQLiteError) {
            if database == nil { database = try file.open() }
            if let database { return try body(database) }
        } catch {
            database = nil
            guard error.isDamage else { throw DeliveryStoreError(path: file.path, reason: error.message) }
            // Keep the damaged file so that it can be examined. The queue continues with a new one.
            let kept = try file.setAside()
            let failure = DeliveryStoreError(path: file.path, reason: "\(error); it is kept as \(printable(kept))")
            log.error("\(failure)")
            throw failure
        }
        throw DeliveryStoreError(path: file.path, reason: "it belongs to a later version")
    }
}
