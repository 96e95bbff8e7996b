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
        let found: (id: Int64, outcome: [UInt8]?, isHere: Bool)? = try reading(nil) { database throws(SQLiteError) in
            let rows = try database.prepare(
                """
                SELECT id, outcome, outcome IS NULL, id IN (SELECT id FROM deliveries) FROM received
                    WHERE origin = ? AND name = ? AND digest = ?
                """
            )
            try rows.bind(1, key.origin)
            try rows.bind(2, key.name)
            try rows.bind(3, key.digest)
            guard try rows.step() else { return nil }
            let outcome = rows.integer(2) == 0 ? rows.withBytes(1) { Array($0) } : nil
            return (rows.integer(0), outcome, rows.integer(3) != 0)
        }
        guard let found else { return nil }
        guard let bytes = found.outcome else {
            let gone = OpenURLError(.cancelled, "the URL was removed from the queue of the other host")
            return (found.id, found.isHere ? nil : .failure(gone))
        }
        do throws(MessageDecodingError) {
            let outcome: OpenOutcome = try MessageArchive.body(from: bytes)
            switch outcome {
            case .opened(let result): return (found.id, .success(result))
            case .failed(let error):
                return (found.id, .failure(OpenURLError(error) ?? OpenURLError(.notQueued, error.message)))
            }
        } catch {
            throw DeliveryStoreError(path: file.path, reason: "the outcome of request \(found.id) is damaged: \(error)")
        }
    }

    /// Writes the outcome of a delivery, if it is a request from another host.
    ///
    /// - Returns: Whether it is one.
    func record(
        _ outcome: Result<OpenResult, OpenURLError>,
        of id: Int64,
        in database: Database
    ) throws(SQLiteError) -> Bool {
        let whole: OpenOutcome
        var short: OpenOutcome
        switch outcome {
        case .success(let result):
            whole = .opened(result.withoutDescriptors)
            var bare = result
            (bare.reply, bare.trace) = ([:], [])
            short = .opened(bare)
        case .failure(let error):
            whole = .failed(RemoteError(error.code.errorName, message(of: error)))
            short = .failed(RemoteError(error.code.errorName, ""))
        }
        let shortBytes = Self.bytes(of: short) ?? []
        var received = received
        let isRecorded = try received.record(
            Self.bytes(of: whole) ?? shortBytes,
            orElse: shortBytes,
            of: id,
            in: database
        )
        self.received = received
        return isRecorded
    }

    /// Returns the bytes of an outcome; nil if they are too many, as only those of a reply can be.
    private static func bytes(of outcome: OpenOutcome) -> [UInt8]? {
        do throws(MessageEncodingError) {
            return try MessageArchive.bytes(of: outcome, limit: HostsInterface.largestRequest)
        } catch {
            return nil
        }
    }

    /// Ends a request from another host that has failed for good. It leaves the queue, because the host that sent it keeps it
    /// as a dead letter.
    ///
    /// - Returns: Whether the delivery was such a request.
    func end(_ id: Int64, _ error: OpenURLError) throws(DeliveryStoreError) -> Bool {
        guard try isThere() else { return false }
        return try !deleted { database throws(SQLiteError) in
            guard try record(.failure(error), of: id, in: database) else { return [] }
            return try deleteRows(where: "id = ?", id, in: database)
        }.isEmpty
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
