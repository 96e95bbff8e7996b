internal import DBus
internal import OpenURLBus
internal import SQLite

/// Deliveries to and from other hosts, and those that expire.
extension DeliveryStore {
    /// Returns this store's name among those of all hosts.
    func identity() throws(DeliveryStoreError) -> String {
        try reading("") { database throws(SQLiteError) in
            let rows = try database.prepare("SELECT name FROM identity")
            return try rows.step() ? rows.text(0) : ""
        }
    }

    /// Returns what is known about a request from another host, without changing anything.
    ///
    /// - Returns: The number of its delivery, and its outcome, if there is one; nil if the request is not remembered.
    func received(
        _ key: RequestKey
    ) throws(DeliveryStoreError) -> (id: Int64, outcome: Result<OpenResult, OpenURLError>?)? {
        let found: ReceivedRequests.Found? = try reading(nil) { database throws(SQLiteError) in
            try ReceivedRequests.find(key, in: database)
        }
        guard let found else { return nil }
        do throws(MessageDecodingError) {
            return (found.id, try found.outcome)
        } catch {
            throw DeliveryStoreError(path: file.path, reason: "the outcome of request \(found.id) is damaged: \(error)")
        }
    }

    /// Ends a request from another host that has failed for good. It leaves the queue, because the host that sent it keeps it
    /// as a dead letter.
    ///
    /// - Returns: Whether the delivery was such a request.
    func end(_ id: Int64, _ error: OpenURLError) throws(DeliveryStoreError) -> Bool {
        guard try isThere() else { return false }
        var received = received
        let rows = try deleted { database throws(SQLiteError) in
            guard try received.record(.failure(error), of: id, in: database) else { return [] }
            return try DeliveryRows.delete(where: "id = ?", id, in: database)
        }
        self.received = received
        return !rows.isEmpty
    }

    /// Returns how many deliveries wait for each handler and host whose name begins with a text.
    func counts(ofHandlersWith prefix: String) throws(DeliveryStoreError) -> [String: Int] {
        try reading([:]) { database throws(SQLiteError) in
            let rows = try database.prepare(
                """
                SELECT handler, count(*) FROM deliveries
                    WHERE due IS NOT NULL AND substr(handler, 1, length(?1)) = ?1 GROUP BY handler
                """
            )
            try rows.bind(1, prefix)
            var counts: [String: Int] = [:]
            while try rows.step() { counts[rows.text(0)] = Int(rows.integer(1)) }
            return counts
        }
    }

    /// Returns when the next waiting delivery expires; nil if none does.
    func nextExpiry(after now: Int64) throws(DeliveryStoreError) -> Int64? {
        try reading(nil) { database throws(SQLiteError) in
            let rows = try database.prepare(
                "SELECT min(expires), min(expires) IS NULL FROM deliveries WHERE due IS NOT NULL AND expires > ?"
            )
            try rows.bind(1, now)
            return try rows.step() && rows.integer(1) == 0 ? rows.integer(0) : nil
        }
    }

    /// Returns the numbers of the waiting deliveries that have expired, and why the last attempt at each failed.
    func expired(at now: Int64) throws(DeliveryStoreError) -> [(id: Int64, problem: String?)] {
        try reading([]) { database throws(SQLiteError) in
            let rows = try database.prepare(
                """
                SELECT id, \(Self.listed("message")), message IS NULL FROM deliveries
                    WHERE due IS NOT NULL AND expires <= ?
                """
            )
            try rows.bind(1, now)
            var expired: [(Int64, String?)] = []
            while try rows.step() {
                expired.append((rows.integer(0), rows.integer(2) == 0 ? rows.text(1) : nil))
            }
            return expired
        }
    }
}
