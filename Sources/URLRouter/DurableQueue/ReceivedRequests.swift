internal import DBus
internal import OpenURLBus
internal import SQLite

/// The name of a request from another host.
struct RequestKey: Sendable, Hashable {
    /// The account of the host.
    let origin: String
    /// The host's name for the request.
    let name: String
    /// A checksum of the request's URL, handler and `inBackground`.
    ///
    /// If a request has the name of an earlier one and another checksum, that is an error of the host, and the request is
    /// refused. If they differ only in other options, the later one is taken for a repetition, and gets the same outcome.
    let digest: Int64
}

/// The requests from other hosts and their outcomes, in a ``DeliveryStore``'s table `received`.
///
/// A request is written in the same transaction as its delivery, and its outcome in the one that ends the delivery, so a
/// crash at any line leaves both or neither. Each is remembered for `HostsInterface.memory`. One host gets at most half of
/// the room that is left. If there is no room, a new request is refused, because a host repeats a request that was forgotten.
struct ReceivedRequests: Sendable {
    private let limits: DeliveryStoreLimits
    /// The table's contents; nil before the first count.
    private var held: QueueShares?

    init(_ limits: DeliveryStoreLimits) {
        self.limits = limits
    }

    /// Makes the next change count the table's rows again, because the file may be a different one.
    mutating func forgetCount() { held = nil }

    /// Looks up a request, after requests that are too old have been forgotten.
    ///
    /// - Returns: The number of its delivery; nil if it is not remembered. A failure, in words, if a request with another
    ///   checksum has its name.
    mutating func known(
        _ key: RequestKey,
        at now: Int64,
        in database: Database
    ) throws(SQLiteError) -> Result<DeliveryStore.Accepted, RefusedRequest>? {
        try forgetOld(at: now, in: database)
        let rows = try database.prepare("SELECT id, digest FROM received WHERE origin = ? AND name = ?")
        try rows.bind(1, key.origin)
        try rows.bind(2, key.name)
        guard try rows.step() else { return nil }
        guard rows.integer(1) == key.digest else {
            return .failure(RefusedRequest(reason: "\(key.origin) has sent another request with the same name"))
        }
        var accepted = DeliveryStore.Accepted(id: rows.integer(0))
        accepted.isRepeated = true
        return .success(accepted)
    }

    /// Why a request is not accepted.
    struct RefusedRequest: Error {
        let reason: String
    }

    /// Returns in words why there is no room for another request of a host; nil if there is room.
    func refusal(of origin: String) -> String? {
        guard let refusal = held?.refusal(of: origin, bytes: Self.size) else { return nil }
        return "the memory of requests from other hosts has no room: \(refusal)"
    }

    /// The weight of a request without an outcome.
    private static let size = 256

    mutating func add(_ key: RequestKey, _ id: Int64, at now: Int64, in database: Database) throws(SQLiteError) {
        let insert = try database.prepare(
            "INSERT INTO received (origin, name, id, digest, arrived) VALUES (?, ?, ?, ?, ?)"
        )
        try insert.bind(1, key.origin)
        try insert.bind(2, key.name)
        try insert.bind(3, id)
        try insert.bind(4, key.digest)
        try insert.bind(5, now)
        _ = try insert.step()
        held?.add(bytes: Self.size, of: key.origin)
    }

    /// A request that is remembered.
    struct Found: Sendable {
        /// The number of its delivery.
        let id: Int64
        fileprivate let bytes: [UInt8]?
        /// Whether its delivery is still in the queue.
        fileprivate let isQueued: Bool

        /// The outcome; nil if there is none yet.
        var outcome: Result<OpenResult, OpenURLError>? {
            get throws(MessageDecodingError) {
                guard let bytes else {
                    let gone = OpenURLError(.cancelled, "the URL was removed from the queue of the other host")
                    return isQueued ? nil : .failure(gone)
                }
                let outcome: OpenOutcome = try MessageArchive.body(from: bytes)
                switch outcome {
                case .opened(let result): return .success(result)
                case .failed(let error):
                    return .failure(OpenURLError(error) ?? OpenURLError(.notQueued, error.message))
                }
            }
        }
    }

    /// Looks up a request without changing anything.
    ///
    /// - Returns: Nil if it is not remembered.
    static func find(_ key: RequestKey, in database: Database) throws(SQLiteError) -> Found? {
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
        return Found(id: rows.integer(0), bytes: outcome, isQueued: rows.integer(3) != 0)
    }

    /// Writes the outcome of a delivery, if it is such a request. If there is no room for it, only its kind is written.
    ///
    /// - Returns: Whether it is one.
    mutating func record(
        _ outcome: Result<OpenResult, OpenURLError>,
        of id: Int64,
        in database: Database
    ) throws(SQLiteError) -> Bool {
        let found = try database.prepare("SELECT origin FROM received WHERE id = ?")
        try found.bind(1, id)
        guard try found.step() else { return false }
        let origin = found.text(0)
        if held == nil { held = try count(database) }
        let (whole, short) = encodings(of: outcome)
        let hasRoom = held?.refusal(of: origin, bytes: whole.count) == nil
        let written = hasRoom ? whole : short
        let update = try database.prepare("UPDATE received SET outcome = ? WHERE id = ?")
        try update.bind(1, written)
        try update.bind(2, id)
        _ = try update.step()
        held?.add(deliveries: 0, bytes: written.count, of: origin)
        return true
    }

    /// Returns the bytes of an outcome, and of the same outcome without what may be long.
    private func encodings(of outcome: Result<OpenResult, OpenURLError>) -> (whole: [UInt8], short: [UInt8]) {
        let whole: OpenOutcome
        let short: OpenOutcome
        switch outcome {
        case .success(let result):
            whole = .opened(result.withoutDescriptors)
            var bare = result
            (bare.reply, bare.trace) = ([:], [])
            short = .opened(bare)
        case .failure(let error):
            whole = .failed(RemoteError(error.code.errorName, limits.message(of: error)))
            short = .failed(RemoteError(error.code.errorName, ""))
        }
        let shortBytes = Self.encoded(short) ?? []
        return (Self.encoded(whole) ?? shortBytes, shortBytes)
    }

    /// Returns the bytes of an outcome; nil if they are too many, as only those of a reply can be.
    private static func encoded(_ outcome: OpenOutcome) -> [UInt8]? {
        do throws(MessageEncodingError) {
            return try MessageArchive.bytes(of: outcome, limit: HostsInterface.largestRequest)
        } catch {
            return nil
        }
    }

    private mutating func forgetOld(at now: Int64, in database: Database) throws(SQLiteError) {
        if held == nil { held = try count(database) }
        let old = try database.prepare(
            """
            DELETE FROM received WHERE arrived < ? AND id NOT IN (SELECT id FROM deliveries)
                RETURNING origin, \(Self.bytes)
            """
        )
        try old.bind(1, now - Int64(HostsInterface.memory / .milliseconds(1)))
        while try old.step() { held?.remove(bytes: Int(old.integer(1)), of: old.text(0)) }
    }

    /// The weight of a row, in SQL.
    private static let bytes = "\(size) + coalesce(length(outcome), 0)"

    private func count(_ database: Database) throws(SQLiteError) -> QueueShares {
        let rows = try database.prepare("SELECT origin, count(*), sum(\(Self.bytes)) FROM received GROUP BY origin")
        var shares = QueueShares(deliveries: limits.received, bytes: limits.receivedBytes)
        while try rows.step() {
            shares.add(deliveries: Int(rows.integer(1)), bytes: Int(rows.integer(2)), of: rows.text(0))
        }
        return shares
    }
}
