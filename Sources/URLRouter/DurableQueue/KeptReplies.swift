internal import OpenURLBus
internal import SQLite

/// Replies to deliveries, in a ``DeliveryStore``'s table `replies`.
///
/// Each is kept for `QueueInterface.keptTime`. One caller gets at most half of the room that is left, and its oldest
/// replies make way for newer ones.
struct KeptReplies {
    private let limits: DeliveryStoreLimits
    /// The table's contents; nil before the first count.
    private var held: QueueShares?

    init(_ limits: DeliveryStoreLimits) {
        self.limits = limits
    }

    /// Makes the next change count the table's rows again, because the file may be a different one.
    mutating func forgetCount() {
        held = nil
    }

    /// Keeps a reply, if there is room for it.
    ///
    /// - Parameters:
    ///   - id: The number of the delivery.
    ///   - now: The time in milliseconds since 1970.
    mutating func keep(
        _ reply: [UInt8],
        to id: Int64,
        of caller: String,
        at now: Int64,
        in database: Database
    ) throws(SQLiteError) {
        var shares: QueueShares
        if let held { shares = held } else { shares = try count(database) }
        let expired = try database.prepare("DELETE FROM replies WHERE ended < ? RETURNING caller, length(reply)")
        try expired.bind(1, Self.oldest(at: now))
        while try expired.step() { shares.remove(bytes: Int(expired.integer(1)), of: expired.text(0)) }
        while shares.refusal(of: caller, bytes: reply.count) != nil {
            let oldest = try database.prepare(
                "DELETE FROM replies WHERE id = (SELECT min(id) FROM replies WHERE caller = ?) RETURNING length(reply)"
            )
            try oldest.bind(1, caller)
            guard try oldest.step() else {
                held = shares
                return
            }
            shares.remove(bytes: Int(oldest.integer(0)), of: caller)
        }
        let insert = try database.prepare("INSERT INTO replies (id, caller, ended, reply) VALUES (?, ?, ?, ?)")
        try insert.bind(1, id)
        try insert.bind(2, caller)
        try insert.bind(3, now)
        try insert.bind(4, reply)
        _ = try insert.step()
        shares.add(bytes: reply.count, of: caller)
        held = shares
    }

    /// Returns the reply to a delivery; nil if none is kept.
    static func reply(to id: Int64, at now: Int64, in database: Database) throws(SQLiteError) -> [UInt8]? {
        let rows = try database.prepare("SELECT reply FROM replies WHERE id = ? AND ended >= ?")
        try rows.bind(1, id)
        try rows.bind(2, oldest(at: now))
        return try rows.step() ? rows.withBytes(0) { Array($0) } : nil
    }

    private func count(_ database: Database) throws(SQLiteError) -> QueueShares {
        let rows = try database.prepare("SELECT caller, count(*), sum(length(reply)) FROM replies GROUP BY caller")
        var shares = QueueShares(deliveries: limits.replies, bytes: limits.replyBytes)
        while try rows.step() {
            shares.add(deliveries: Int(rows.integer(1)), bytes: Int(rows.integer(2)), of: rows.text(0))
        }
        return shares
    }

    /// Returns the earliest time at which a delivery can have ended if its reply is still kept.
    private static func oldest(at now: Int64) -> Int64 {
        now - Int64(QueueInterface.keptTime / .milliseconds(1))
    }
}
