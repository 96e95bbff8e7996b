internal import OpenURLBus
internal import SQLite

/// The rows of a ``DeliveryStore``'s table `deliveries`, and the room that each caller takes up there.
///
/// One caller gets at most half of the room that is left.
struct DeliveryRows {
    private let limits: DeliveryStoreLimits
    /// The table's contents; nil before the first count.
    private var held: QueueShares?

    init(_ limits: DeliveryStoreLimits) {
        self.limits = limits
    }

    /// Makes the next change count the table's rows again, because the file may be a different one.
    mutating func forgetCount() { held = nil }

    /// A delivery that is to be stored.
    struct New: Sendable {
        let delivery: Delivery
        /// The options and the context, as they are stored.
        let request: [UInt8]
        /// When it was accepted.
        let time: Int64
        let due: Int64
        /// The number of the handler's notifications that may wait; nil if this is none of them.
        let limit: Int?
        /// The request of another host that the delivery is; nil if it is none.
        let origin: RequestKey?

        var bytes: Int { delivery.url.utf8.count + request.count }
    }

    /// Why a delivery is not stored.
    struct Refusal: Error {
        let reason: String
        /// Whether there is no room for it.
        var isFull = true
    }

    /// A row that was deleted.
    struct Deleted: Sendable {
        let caller: String
        let bytes: Int
    }

    // MARK: Adding

    /// Stores deliveries.
    ///
    /// - Parameter received: the requests from other hosts, among which those of the deliveries are remembered.
    /// - Returns: the result for each delivery, in the same order.
    mutating func insert(
        _ all: [New],
        _ received: inout ReceivedRequests,
        in database: Database
    ) throws(SQLiteError) -> [Result<DeliveryStore.Accepted, Refusal>] {
        let insert = try database.prepare(
            """
            INSERT INTO deliveries
                (url, handler, request, accepted, due, caller, name, at, every, notify, attempts, lifetime,
                expires, nonce) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?,
                iif(?, lower(hex(randomblob(8))), '')) RETURNING id
            """
        )
        var shares: QueueShares
        if let held { shares = held } else { shares = try count(database) }
        held = nil
        var results: [Result<DeliveryStore.Accepted, Refusal>] = []
        for new in all {
            if let origin = new.origin, let known = try received.known(origin, at: new.time, in: database) {
                results.append(known.mapError { Refusal(reason: $0.reason, isFull: false) })
                continue
            }
            let refusal =
                shares.refusal(of: new.delivery.caller, bytes: new.bytes)
                ?? new.origin.flatMap { received.refusal(of: $0.origin) }
            if let refusal {
                results.append(.failure(Refusal(reason: refusal)))
                continue
            }
            guard let removed = try makeWay(for: new, &shares, in: database) else {
                let reason = "\(new.delivery.handler) already has \(new.limit ?? 0) notifications that come sooner"
                results.append(.failure(Refusal(reason: reason)))
                continue
            }
            try bind(new, to: insert)
            while try insert.step() {
                let id = insert.integer(0)
                if let origin = new.origin { try received.add(origin, id, at: new.time, in: database) }
                results.append(.success(DeliveryStore.Accepted(id: id, removed: removed)))
            }
            shares.add(bytes: new.bytes, of: new.delivery.caller)
        }
        held = shares
        return results
    }

    /// Deletes the notifications that make way for a new one, and returns their numbers; nil if the new one would be the
    /// latest of too many.
    private func makeWay(
        for new: New,
        _ shares: inout QueueShares,
        in database: Database
    ) throws(SQLiteError) -> [Int64]? {
        guard let limit = new.limit else { return [] }
        let removed = try DeliveryStore.makingWay(for: new.delivery, due: new.due, limit: limit, in: database)
        for id in removed ?? [] {
            for row in try Self.delete(where: "id = ?", id, in: database) {
                shares.remove(bytes: row.bytes, of: row.caller)
            }
        }
        return removed
    }

    private func bind(_ new: New, to insert: Statement) throws(SQLiteError) {
        let options = new.delivery.options
        try insert.bind(1, new.delivery.url)
        try insert.bind(2, new.delivery.handler)
        try insert.bind(3, new.request)
        try insert.bind(4, new.time)
        try insert.bind(5, new.due)
        try insert.bind(6, new.delivery.caller)
        try insert.bind(7, options.requestID?.rawValue ?? "")
        try insert.bind(8, options.deliveryTime?.rawValue ?? "")
        try insert.bind(9, options.repeatInterval?.rawValue ?? "")
        try insert.bind(10, options.notification ?? "")
        if let lifetime = options.lifetime?.milliseconds {
            try insert.bind(11, lifetime)
            try insert.bind(12, new.due + lifetime)
        } else {
            for parameter in 11...12 { try insert.bindNull(parameter) }
        }
        try insert.bind(13, options.host == nil ? 0 : 1)
    }

    private func count(_ database: Database) throws(SQLiteError) -> QueueShares {
        let rows = try database.prepare("SELECT caller, count(*), sum(\(Self.size)) FROM deliveries GROUP BY caller")
        var shares = QueueShares(deliveries: limits.deliveries, bytes: limits.bytes)
        while try rows.step() {
            shares.add(deliveries: Int(rows.integer(1)), bytes: Int(rows.integer(2)), of: rows.text(0))
        }
        return shares
    }

    /// Size of a row in bytes, in SQL.
    private static let size = "length(CAST(url AS BLOB)) + length(request)"

    // MARK: Deleting

    /// Deletes rows. Once the transaction has ended, ``free(_:)`` frees the space that they took.
    static func delete(
        where condition: String,
        _ value: Int64,
        in database: Database
    ) throws(SQLiteError) -> [Deleted] {
        let delete = try database.prepare("DELETE FROM deliveries WHERE \(condition) RETURNING caller, \(size)")
        try delete.bind(1, value)
        var rows: [Deleted] = []
        while try delete.step() { rows.append(Deleted(caller: delete.text(0), bytes: Int(delete.integer(1)))) }
        return rows
    }

    /// Deletes the oldest dead letters of the sender of a new one, if the sender has more than half of what the others
    /// leave. The newest one stays.
    ///
    /// - Parameter id: the new one's number.
    func deleteOldestDeadLetters(besides id: Int64, in database: Database) throws(SQLiteError) -> [Deleted] {
        try Self.delete(
            where: """
                id IN (
                    WITH dead AS (SELECT id, caller = (SELECT caller FROM deliveries WHERE id = ?1) AS own
                        FROM deliveries WHERE due IS NULL)
                    SELECT id FROM dead WHERE own ORDER BY id DESC
                        LIMIT -1 OFFSET max(1, (\(limits.deadLetters) - (SELECT count(*) FROM dead WHERE NOT own)) / 2)
                )
                """,
            id,
            in: database
        )
    }

    /// Frees the space that deleted rows took.
    mutating func free(_ rows: [Deleted]) {
        for row in rows { held?.remove(bytes: row.bytes, of: row.caller) }
    }
}
