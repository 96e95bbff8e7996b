internal import DBus
internal import OpenURLBus
internal import SQLite

/// The user's requests: listing the queue, and changing single deliveries.
extension DeliveryStore {
    /// Returns the deliveries that follow a number, in the order of their numbers. This method does not know which of
    /// them are in progress. If the strings are large, the page ends early. Strings that are longer than any that the
    /// router stores are truncated.
    ///
    /// - Parameter account: The only account whose deliveries count; nil for all.
    func list(after id: Int64, of account: String? = nil, limit: Int) throws(DeliveryStoreError) -> [QueuedURL] {
        try reading([]) { database throws(SQLiteError) in
            let rows = try database.prepare(
                """
                SELECT id, \(Self.listed("url")), \(Self.listed("handler")), attempts, accepted, due, due IS NULL, error,
                    \(Self.listed("message")), \(Self.listed("name")), at, every,
                    \(Self.listed("notify")) FROM deliveries
                    WHERE id > ?1 AND (caller = ?3 OR \(account == nil)) ORDER BY id LIMIT ?2
                """
            )
            try rows.bind(1, id)
            try rows.bind(2, Int64(limit))
            try rows.bind(3, account ?? "")
            var urls: [QueuedURL] = []
            var size = 0
            while size < Self.pageBytes, try rows.step() {
                let isDead = rows.integer(6) != 0
                var url = QueuedURL(
                    id: "\(rows.integer(0))",
                    url: rows.text(1),
                    handler: rows.text(2),
                    state: isDead ? .dead : .waiting,
                    attempts: UInt32(clamping: rows.integer(3)),
                    accepted: UInt64(rows.time(4) / 1000)
                )
                url.requestID = rows.text(9).isEmpty ? url.id : rows.text(9)
                if !isDead { url.next = UInt64((rows.time(5) + 999) / 1000) }
                url.deliveryTime = DeliveryTime(rawValue: rows.text(10))
                url.repeatInterval = RepeatInterval(rawValue: rows.text(11))
                url.notification = rows.text(12).isEmpty ? nil : rows.text(12)
                if let name = ErrorName(rows.text(7)) { url.error = RemoteError(name, rows.text(8)) }
                size += url.url.utf8.count + url.handler.utf8.count + rows.text(8).utf8.count
                urls.append(url)
            }
            return urls
        }
    }

    /// A page of the list ends when its strings exceed this size, but every page has at least one delivery.
    private static let pageBytes = 4 << 20

    /// Returns the SQL for a string in the list. Only in a damaged file can text contain a NUL, which a message cannot
    /// carry, or be longer than a message.
    static func listed(_ column: String) -> String {
        "substr(replace(CAST(\(column) AS TEXT), char(0), ''), 1, \(1 << 20))"
    }

    /// Returns the account that a delivery, or the reply to it, counts towards; nil if there is neither.
    func caller(of id: Int64) throws(DeliveryStoreError) -> String? {
        try reading(nil) { database throws(SQLiteError) in
            let rows = try database.prepare(
                "SELECT caller FROM deliveries WHERE id = ?1 UNION ALL SELECT caller FROM replies WHERE id = ?1"
            )
            try rows.bind(1, id)
            return try rows.step() ? rows.text(0) : nil
        }
    }

    /// Gives a delivery a full set of attempts again, starting now, and its whole lifetime. If it was a dead letter, it is
    /// another request for the host that it goes to, because that host remembers the outcome of the first one. Otherwise it
    /// is the same request, so it does not live longer: the host remembers a request for a limited time.
    ///
    /// - Returns: The delivery's handler, and the account of its sender; nil if there is no such delivery.
    func retry(_ id: Int64, at now: Int64) throws(DeliveryStoreError) -> (handler: String, sender: String)? {
        try change { database throws(SQLiteError) in
            let update = try database.prepare(
                """
                UPDATE deliveries SET attempts = 0, round = round + (due IS NULL), due = ?1,
                    expires = iif(due IS NULL OR nonce = '', ?1 + lifetime, min(?1 + lifetime, expires))
                    WHERE id = ?2 RETURNING handler, caller
                """
            )
            try update.bind(1, now)
            try update.bind(2, id)
            return update
        }
    }

    /// Forgets a delivery.
    ///
    /// - Returns: Whether the delivery existed.
    func drop(_ id: Int64) throws(DeliveryStoreError) -> Bool {
        guard try isThere() else { return false }
        return try !deleted { database throws(SQLiteError) in
            try DeliveryRows.delete(where: "id = ?", id, in: database)
        }.isEmpty
    }

    /// - Returns: The handler and the sender that the statement returns; nil if it found no row.
    func change(
        _ statement: (Database) throws(SQLiteError) -> Statement
    ) throws(DeliveryStoreError) -> (handler: String, sender: String)? {
        guard try isThere() else { return nil }
        var found: (handler: String, sender: String)?
        try writing { database throws(SQLiteError) in
            let statement = try statement(database)
            while try statement.step() { found = (statement.text(0), statement.text(1)) }
        }
        return found
    }
}
