internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SQLite
internal import UserFiles

/// Deliveries on disk. Once accepted, a delivery stays until a handler takes it or a caller drops it, even if the
/// router crashes.
///
/// Because read and write operations block, the store has its own thread. Deliveries that arrive during a write
/// operation are all written by the next one. All times are in milliseconds since 1970.
actor DeliveryStore {
    /// A waiting delivery.
    struct Waiting: Sendable, Hashable {
        let id: Int64
        let handler: String
        /// The sender's account.
        let sender: String
        var due: Int64
        /// Whether it waits for the time that its sender has set, and not for another attempt.
        var isTimed = false
    }

    let file: DeliveryFile
    let limits: DeliveryStoreLimits
    /// Returns the rules of the session's time zone, as they are now.
    let zone: @Sendable () -> TimeZoneRules
    private let loop: EventLoop
    private let log: Logger
    private let database: DeliveryDatabase
    private var lock: FileLock?
    private var rows: DeliveryRows
    private var replies: KeptReplies
    var received: ReceivedRequests
    private var accepting: [Accepting] = []

    private struct Accepting {
        let new: DeliveryRows.New
        let continuation: CheckedContinuation<Result<Accepted, DeliveryStoreError>, Never>
    }

    /// A delivery that is on disk.
    struct Accepted: Sendable, Hashable {
        let id: Int64
        /// The deliveries that have made way for it.
        var removed: [Int64] = []
        /// Whether another host's request had been accepted before, under this number. Nothing was stored then.
        var isRepeated = false
    }

    /// This store's own thread as the actor's executor.
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Finds this user's store: `$XDG_STATE_HOME/openurl/queue.sqlite`, or below `$HOME/.local/state`. The first
    /// delivery creates the file.
    ///
    /// - Parameter loop: A loop whose thread may block, because nothing else uses it.
    /// - Returns: Nil if the environment has neither variable.
    init?(environment: [String: String], on loop: EventLoop, log: Logger) {
        guard let directory = BaseDirectories(environment: environment).stateHome else { return nil }
        self.init(path: "\(directory)/openurl/queue.sqlite", on: loop, log: log)
    }

    init(
        path: String,
        limits: DeliveryStoreLimits = DeliveryStoreLimits(),
        zone: @escaping @Sendable () -> TimeZoneRules = { .session },
        on loop: EventLoop,
        log: Logger
    ) {
        let file = DeliveryFile(path: path)
        self.file = file
        database = DeliveryDatabase(file, log: log)
        self.limits = limits
        self.zone = zone
        rows = DeliveryRows(limits)
        replies = KeptReplies(limits)
        received = ReceivedRequests(limits)
        self.loop = loop
        self.log = log
    }

    // MARK: The scheduler's calls

    /// Returns the waiting deliveries, in no particular order. Only one process at a time may deliver; for any other,
    /// the result is nil.
    ///
    /// First looks up the times of the deliveries that have one, because the time zone or the clock may have changed.
    func waiting(at now: Int64 = WallClock.milliseconds) throws(DeliveryStoreError) -> [Waiting]? {
        if lock == nil { lock = try file.lock() }
        guard lock != nil else { return nil }
        try reviewSchedules(at: now)
        return try reading([]) { database throws(SQLiteError) in
            let rows = try database.prepare(
                "SELECT id, handler, caller, due, \(Self.isTimed) FROM deliveries WHERE due IS NOT NULL"
            )
            var waiting: [Waiting] = []
            while try rows.step() {
                var delivery = Waiting(
                    id: rows.integer(0),
                    handler: rows.text(1),
                    sender: rows.text(2),
                    due: rows.time(3)
                )
                delivery.isTimed = rows.integer(4) != 0
                waiting.append(delivery)
            }
            return waiting
        }
    }

    /// Gives back the right to deliver.
    func giveBack() {
        lock = nil
    }

    /// Stores a delivery. Returns once it is on disk.
    ///
    /// - Parameters:
    ///   - due: The time of the first attempt; nil for now.
    ///   - limit: How many local notifications of the handler may wait, if the delivery is one; nil otherwise. The latest
    ///     ones make way for it, and one with the same URL.
    ///   - origin: The request of another host that the delivery is; nil if it is none. A request that is remembered is not
    ///     stored again.
    func accept(
        _ delivery: Delivery,
        at now: Int64,
        due: Int64?,
        keepingSoonest limit: Int?,
        of origin: RequestKey? = nil
    ) async throws(DeliveryStoreError) -> Accepted {
        // If one delivery cannot be encoded, the others must still be stored.
        let request: [UInt8]
        do throws(MessageEncodingError) {
            let arguments = Arguments(delivery.options, delivery.context)
            request = try MessageArchive.bytes(of: arguments, limit: Self.requestLimit)
        } catch {
            throw DeliveryStoreError(path: file.path, reason: error.description)
        }
        let result = await withCheckedContinuation { continuation in
            let new = DeliveryRows.New(
                delivery: delivery,
                request: request,
                time: now,
                due: due ?? now,
                limit: limit,
                origin: origin
            )
            accepting.append(Accepting(new: new, continuation: continuation))
            // Other deliveries that arrive before this job runs are written together with this one.
            if accepting.count == 1 { loop.execute { self.assumeIsolated { $0.writeAccepted() } } }
        }
        return try result.get()
    }

    private func writeAccepted() {
        let accepted = accepting
        accepting = []
        var results: [Result<Accepted, DeliveryStoreError>] = []
        do throws(DeliveryStoreError) {
            try writing { database throws(SQLiteError) in
                var (rows, received) = (self.rows, self.received)
                // With a single reference, the counts are changed in place.
                self.rows.forgetCount()
                self.received.forgetCount()
                results = try rows.insert(accepted.map(\.new), &received, in: database).map { result in
                    result.mapError { DeliveryStoreError(path: file.path, reason: $0.reason, isFull: $0.isFull) }
                }
                (self.rows, self.received) = (rows, received)
            }
        } catch {
            results = accepted.map { _ in .failure(error) }
        }
        for (entry, result) in zip(accepted, results) { entry.continuation.resume(returning: result) }
    }

    /// Performs a transaction that deletes rows, and frees the space that they took.
    ///
    /// - Returns: the rows that were deleted.
    func deleted(
        _ body: (Database) throws(SQLiteError) -> [DeliveryRows.Deleted]
    ) throws(DeliveryStoreError) -> [DeliveryRows.Deleted] {
        var deleted: [DeliveryRows.Deleted] = []
        try writing { database throws(SQLiteError) in deleted = try body(database) }
        rows.free(deleted)
        return deleted
    }

    /// Size of a message, plus some room for the context that the router adds.
    private static let requestLimit = 2 << 20

    /// Takes a delivery for an attempt. From now on the attempt counts, even if the router crashes.
    ///
    /// - Returns: The delivery and the number of the attempt; nil if the delivery was dropped or is a dead letter. If
    ///   it cannot be read, it becomes a dead letter.
    func begin(_ id: Int64) throws(DeliveryStoreError) -> (delivery: Delivery, attempt: Int)? {
        struct Row {
            let url: String
            let handler: String
            let request: [UInt8]
            let attempt: Int
            let turn: Int64
            let round: Int64
            let nonce: String
            let expires: Int64?
            let problem: String?
        }
        var found: Row?
        try writing { database throws(SQLiteError) in
            let update = try database.prepare(
                """
                UPDATE deliveries SET attempts = max(CAST(attempts AS INTEGER), 0) + 1 WHERE id = ? AND due IS NOT NULL
                    RETURNING url, handler, request, attempts, turn, round, expires, expires IS NULL,
                        \(Self.listed("message")), message IS NULL, nonce
                """
            )
            try update.bind(1, id)
            while try update.step() {
                let request = update.withBytes(2) { Array($0) }
                found = Row(
                    url: update.text(0),
                    handler: update.text(1),
                    request: request,
                    attempt: Int(update.integer(3)),
                    turn: update.integer(4),
                    round: update.integer(5),
                    nonce: update.text(10),
                    expires: update.integer(7) == 0 ? update.integer(6) : nil,
                    problem: update.integer(9) == 0 ? update.text(8) : nil
                )
            }
        }
        guard let found else { return nil }
        guard found.attempt <= RetryDelay.attempts else {
            // Because no attempt has ended, this URL may be making the router crash.
            let problem = OpenURLError(
                .handlerCrashed,
                "the router exited during each of \(RetryDelay.attempts) attempts"
            )
            log.error("queued URL \(id): \(problem)")
            _ = try set(id, problem, due: nil, counts: true)
            return nil
        }
        do throws(MessageDecodingError) {
            let request: Arguments<OpenOptions, OpenContext> = try MessageArchive.body(from: found.request)
            let (options, context) = request.values
            var delivery = Delivery(url: found.url, handler: found.handler, options: options, context: context)
            delivery.turn = found.turn
            delivery.round = found.round
            delivery.nonce = found.nonce
            delivery.expires = found.expires
            delivery.problem = found.problem
            return (delivery, found.attempt)
        } catch {
            let problem = OpenURLError(.notQueued, "the stored request is damaged: \(error)")
            log.error("queued URL \(id): \(problem)")
            _ = try set(id, problem, due: nil, counts: true)
            return nil
        }
    }

    /// Takes back an attempt, because the bus was gone before the attempt ended. The attempt then does not count.
    func takeBack(_ id: Int64) throws(DeliveryStoreError) {
        try writing { database throws(SQLiteError) in
            let update = try database.prepare("UPDATE deliveries SET attempts = attempts - 1 WHERE id = ?")
            try update.bind(1, id)
            _ = try update.step()
        }
    }

    /// Replaces a delivery with its reply (see ``KeptReplies``), because a handler has taken the URL. A delivery that is
    /// repeated waits for its next time instead, and its reply is not kept.
    ///
    /// - Returns: The next time; nil if there is none.
    @discardableResult
    func succeed(_ id: Int64, _ result: OpenResult, at now: Int64) throws(DeliveryStoreError) -> Int64? {
        guard try isThere() else { return nil }
        if let due = try planRepeat(of: id, at: now, after: nil) { return due }
        var reply: [UInt8]?
        do throws(MessageEncodingError) {
            reply = try MessageArchive.bytes(of: result.withoutDescriptors, limit: Self.requestLimit)
        } catch {
            log.error("the reply to queued URL \(id) was not kept: \(error)")
        }
        var (replies, received) = (replies, received)
        let deleted = try deleted { database throws(SQLiteError) in
            let rows = try DeliveryRows.delete(where: "id = ?", id, in: database)
            if try received.record(.success(result), of: id, in: database) { return rows }
            if let reply, let caller = rows.first?.caller {
                try replies.keep(reply, to: id, of: caller, at: now, in: database)
            }
            return rows
        }
        self.received = received
        if !deleted.isEmpty { self.replies = replies }
        return nil
    }

    /// A delivery's outcome, as far as the store knows it.
    enum StoredOutcome: Sendable {
        /// It is waiting or in progress.
        case none
        case delivered(OpenResult)
        case dead(OpenURLError)
    }

    /// Returns the outcome of a delivery; nil if there is neither a delivery nor a reply.
    func outcome(of id: Int64, at now: Int64) throws(DeliveryStoreError) -> StoredOutcome? {
        var reply: [UInt8]?
        let outcome: StoredOutcome? = try reading(nil) { database throws(SQLiteError) in
            let rows = try database.prepare(
                "SELECT due IS NULL, error, \(Self.listed("message")) FROM deliveries WHERE id = ?"
            )
            try rows.bind(1, id)
            if try rows.step() {
                guard rows.integer(0) != 0 else { return StoredOutcome.none }
                let error = ErrorName(rows.text(1)).flatMap { OpenURLError(RemoteError($0, rows.text(2))) }
                return .dead(error ?? OpenURLError(.notQueued, rows.text(2)))
            }
            reply = try KeptReplies.reply(to: id, at: now, in: database)
            return nil
        }
        guard let reply else { return outcome }
        do throws(MessageDecodingError) {
            return .delivered(try MessageArchive.body(from: reply))
        } catch {
            throw DeliveryStoreError(path: file.path, reason: "the reply to URL \(id) is damaged: \(error)")
        }
    }

    /// The fate of a delivery after a failed attempt.
    enum AfterFailure: Sendable, Hashable {
        /// It is no longer in the store.
        case gone
        case dead
        case waiting(due: Int64)
    }

    /// Records why an attempt failed.
    ///
    /// - Parameters:
    ///   - due: The time of the next attempt; nil if there is none. A delivery that is repeated then waits for its next
    ///     time.
    ///   - counts: Whether the attempt counts.
    func fail(
        _ id: Int64,
        _ error: OpenURLError,
        due: Int64?,
        counts: Bool = true,
        at now: Int64 = WallClock.milliseconds
    ) throws(DeliveryStoreError) -> AfterFailure {
        if due == nil, let next = try planRepeat(of: id, at: now, after: error) { return .waiting(due: next) }
        return try set(id, error, due: due, counts: counts)
    }

    private func set(
        _ id: Int64,
        _ error: OpenURLError,
        due: Int64?,
        counts: Bool
    ) throws(DeliveryStoreError) -> AfterFailure {
        if due == nil, try end(id, error) { return .gone }
        let changed = try change { database throws(SQLiteError) in
            let update = try database.prepare(
                """
                UPDATE deliveries SET error = ?, message = ?, due = ?, attempts = attempts - ? WHERE id = ?
                    RETURNING handler, caller
                """
            )
            try update.bind(1, error.code.errorName.rawValue)
            try update.bind(2, limits.message(of: error))
            if let due { try update.bind(3, due) }
            try update.bind(4, counts ? 0 : 1)
            try update.bind(5, id)
            return update
        }
        if due == nil { try forgetDeadLetters(besides: id) }
        guard changed != nil else { return .gone }
        return due.map(AfterFailure.waiting) ?? .dead
    }

    /// Makes sure that a sender with a new dead letter has no more of them than its share.
    private func forgetDeadLetters(besides id: Int64) throws(DeliveryStoreError) {
        let count = try deleted { database throws(SQLiteError) in
            try rows.deleteOldestDeadLetters(besides: id, in: database)
        }.count
        if count > 0 {
            log.warning("removed \(count) of the queue's oldest dead letters, because their sender has too many")
        }
    }

    // MARK: The file

    func isThere() throws(DeliveryStoreError) -> Bool { try database.isThere() }

    /// Reads from the file if it exists; creates nothing.
    func reading<Result>(
        _ none: Result,
        _ body: (Database) throws(SQLiteError) -> Result
    ) throws(DeliveryStoreError) -> Result {
        guard try isThere() else { return none }
        return try using(body)
    }

    func writing(_ body: (Database) throws(SQLiteError) -> Void) throws(DeliveryStoreError) {
        try using { database throws(SQLiteError) in
            try database.transaction { () throws(SQLiteError) in try body(database) }
        }
    }

    private func using<Result>(_ body: (Database) throws(SQLiteError) -> Result) throws(DeliveryStoreError) -> Result {
        do throws(DeliveryStoreError) {
            return try database.use(body)
        } catch {
            rows.forgetCount()
            replies.forgetCount()
            received.forgetCount()
            throw error
        }
    }
}

extension Statement {
    /// Returns the time in a column, limited to the years from 1970 to 9999. The file may contain any number.
    func time(_ column: Int) -> Int64 {
        min(max(integer(column), 0), 253_402_300_799_999)
    }
}
