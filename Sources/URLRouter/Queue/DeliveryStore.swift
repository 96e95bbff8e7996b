internal import DBus
internal import Desktop
internal import Glibc
public import Logging
internal import OpenURLBus
public import Reactor
internal import SQLite

/// The deliveries on disk: what was accepted is there until a handler has taken it or somebody drops it, whatever becomes of
/// the router.
///
/// Reading and writing block, so the store has a thread of its own. What arrives while it writes is written together next.
/// All times are in milliseconds since 1970.
public actor DeliveryStore {
    /// Why the store cannot do something.
    struct Failure: Error, Hashable, CustomStringConvertible {
        let path: String
        let reason: String

        var description: String { "the queue \(printable(path)) cannot be used: \(reason)" }
    }

    /// A delivery that waits.
    struct Waiting: Sendable, Hashable {
        let id: Int64
        let handler: String
        var due: Int64
    }

    private let file: QueueFile
    private let loop: EventLoop
    private let log: Logger
    private var database: Database?
    private var accepting: [(Delivery, Int64, CheckedContinuation<Result<Int64, Failure>, Never>)] = []

    /// The store's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The store of this user: `$XDG_STATE_HOME/openurl/queue.sqlite`, or below `$HOME/.local/state`. The file is made for the
    /// first delivery.
    ///
    /// - Parameter loop: whose thread may be blocked; nothing else waits there.
    /// - Returns: nil if the environment gives neither.
    public init?(environment: [String: String], on loop: EventLoop, log: Logger) {
        let home = environment["HOME"].map { "\($0)/.local/state" }
        let directories = [environment["XDG_STATE_HOME"], home].compactMap { $0 }
        guard let directory = directories.first(where: { $0.hasPrefix("/") }) else { return nil }
        self.init(path: "\(directory)/openurl/queue.sqlite", on: loop, log: log)
    }

    init(path: String, on loop: EventLoop, log: Logger) {
        file = QueueFile(path: path)
        self.loop = loop
        self.log = log
    }

    // MARK: What the router does

    /// What waits, in no order.
    func waiting() throws(Failure) -> [Waiting] {
        try reading([]) { database throws(SQLiteError) in
            let rows = try database.prepare("SELECT id, handler, due FROM deliveries WHERE due IS NOT NULL")
            var waiting: [Waiting] = []
            while try rows.step() {
                waiting.append(Waiting(id: rows.integer(0), handler: rows.text(1), due: rows.integer(2)))
            }
            return waiting
        }
    }

    /// Stores a delivery; returns its number when it is on the disk.
    func accept(_ delivery: Delivery, at now: Int64) async throws(Failure) -> Int64 {
        let result = await withCheckedContinuation { continuation in
            accepting.append((delivery, now, continuation))
            // What else has arrived by then goes to the disk with it.
            if accepting.count == 1 { loop.execute { self.assumeIsolated { $0.writeAccepted() } } }
        }
        return try result.get()
    }

    private func writeAccepted() {
        let accepted = accepting
        accepting = []
        let result: Result<[Int64], Failure> = Result { () throws(Failure) in
            var ids: [Int64] = []
            let entries = try accepted.map { (delivery, now, _) throws(Failure) in
                (delivery, try bytes(of: delivery), now)
            }
            try writing { database throws(SQLiteError) in
                ids = []
                let insert = try database.prepare(
                    """
                    INSERT INTO deliveries (url, handler, request, accepted, due, attempts) VALUES (?, ?, ?, ?, ?, 0)
                        RETURNING id
                    """
                )
                for (delivery, bytes, now) in entries {
                    try insert.bind(1, delivery.url)
                    try insert.bind(2, delivery.handler)
                    try insert.bind(3, bytes)
                    try insert.bind(4, now)
                    try insert.bind(5, now)
                    while try insert.step() { ids.append(insert.integer(0)) }
                }
            }
            return ids
        }
        for (index, (_, _, continuation)) in accepted.enumerated() {
            continuation.resume(returning: result.map { $0[index] })
        }
    }

    private func bytes(of delivery: Delivery) throws(Failure) -> [UInt8] {
        do throws(MessageEncodingError) {
            return try MessageArchive.bytes(of: Arguments(delivery.options, delivery.context), limit: Self.requestLimit)
        } catch {
            throw Failure(path: file.path, reason: error.description)
        }
    }

    /// What a message may hold, and some more for what was found out.
    private static let requestLimit = 2 << 20

    /// Takes a delivery for an attempt, which counts from now on, whatever becomes of the router.
    ///
    /// - Returns: the delivery and the number of the attempt; nil if somebody has dropped it, or if it cannot be read, which
    ///   makes it a dead letter.
    func begin(_ id: Int64) throws(Failure) -> (delivery: Delivery, attempt: Int)? {
        var found: (url: String, handler: String, request: [UInt8], attempt: Int)?
        try writing { database throws(SQLiteError) in
            let update = try database.prepare(
                "UPDATE deliveries SET attempts = attempts + 1 WHERE id = ? RETURNING url, handler, request, attempts"
            )
            try update.bind(1, id)
            while try update.step() {
                found = (update.text(0), update.text(1), update.withBytes(2) { Array($0) }, Int(update.integer(3)))
            }
        }
        guard let found else { return nil }
        do throws(MessageDecodingError) {
            let request: Arguments<OpenOptions, OpenContext> = try MessageArchive.body(from: found.request)
            let (options, context) = request.values
            return (Delivery(url: found.url, handler: found.handler, options: options, context: context), found.attempt)
        } catch {
            let problem = OpenURLError(.notQueued, "what was stored is damaged: \(error)")
            log.error("queued URL \(id): \(problem)")
            try fail(id, problem, due: nil)
            return nil
        }
    }

    /// A handler has taken it.
    func succeed(_ id: Int64) throws(Failure) {
        _ = try drop(id)
    }

    /// Notes why an attempt failed.
    ///
    /// - Parameter due: when the next one is made; nil if none is.
    func fail(_ id: Int64, _ error: OpenURLError, due: Int64?) throws(Failure) {
        try writing { database throws(SQLiteError) in
            let update = try database.prepare("UPDATE deliveries SET error = ?, message = ?, due = ? WHERE id = ?")
            try update.bind(1, error.code.errorName.rawValue)
            try update.bind(2, error.message)
            if let due { try update.bind(3, due) }
            try update.bind(4, id)
            _ = try update.step()
        }
    }

    // MARK: What a person does

    /// Everything, in the order of arrival. What is being delivered is for the router to say.
    func list() throws(Failure) -> [QueuedURL] {
        try reading([]) { database throws(SQLiteError) in
            let rows = try database.prepare(
                """
                SELECT id, url, handler, attempts, accepted, due, due IS NULL, error, message FROM deliveries ORDER BY id
                """
            )
            var urls: [QueuedURL] = []
            while try rows.step() {
                let isDead = rows.integer(6) != 0
                var url = QueuedURL(
                    id: "\(rows.integer(0))",
                    url: rows.text(1),
                    handler: rows.text(2),
                    state: isDead ? .dead : .waiting,
                    attempts: UInt32(clamping: rows.integer(3)),
                    accepted: UInt64(clamping: rows.integer(4) / 1000)
                )
                if !isDead { url.next = UInt64(clamping: (rows.integer(5) + 999) / 1000) }
                if let name = ErrorName(rows.text(7)) { url.error = RemoteError(name, rows.text(8)) }
                urls.append(url)
            }
            return urls
        }
    }

    /// Gives a delivery all of its attempts again, from now on.
    ///
    /// - Returns: the handler; nil if there is no such delivery.
    func retry(_ id: Int64, at now: Int64) throws(Failure) -> String? {
        try change { database throws(SQLiteError) in
            let update = try database.prepare(
                "UPDATE deliveries SET attempts = 0, due = ? WHERE id = ? RETURNING handler"
            )
            try update.bind(1, now)
            try update.bind(2, id)
            return update
        }
    }

    /// Forgets a delivery.
    ///
    /// - Returns: whether there was one.
    func drop(_ id: Int64) throws(Failure) -> Bool {
        let handler = try change { database throws(SQLiteError) in
            let delete = try database.prepare("DELETE FROM deliveries WHERE id = ? RETURNING handler")
            try delete.bind(1, id)
            return delete
        }
        return handler != nil
    }

    /// - Returns: what the statement returns; nil if it found nothing.
    private func change(_ statement: (Database) throws(SQLiteError) -> Statement) throws(Failure) -> String? {
        guard try isThere() else { return nil }
        var handler: String?
        try writing { database throws(SQLiteError) in
            let statement = try statement(database)
            while try statement.step() { handler = statement.text(0) }
        }
        return handler
    }

    // MARK: The file

    private func isThere() throws(Failure) -> Bool {
        if database != nil { return true }
        return try file.isThere()
    }

    /// Does something with the file, if there is one; nothing is made for it.
    private func reading<Result>(
        _ none: Result,
        _ body: (Database) throws(SQLiteError) -> Result
    ) throws(Failure) -> Result {
        guard try isThere() else { return none }
        return try using(body)
    }

    private func writing(_ body: (Database) throws(SQLiteError) -> Void) throws(Failure) {
        try using { database throws(SQLiteError) in
            try database.transaction { () throws(SQLiteError) in try body(database) }
        }
    }

    private func using<Result>(_ body: (Database) throws(SQLiteError) -> Result) throws(Failure) -> Result {
        do throws(SQLiteError) {
            if database == nil { database = try file.open() }
            if let database { return try body(database) }
        } catch {
            database = nil
            guard error.isDamage else { throw Failure(path: file.path, reason: error.message) }
            // What can still be read of it is for a person to find out; the queue goes on with a new one.
            let kept = try file.setAside()
            let failure = Failure(path: file.path, reason: "\(error); it is kept as \(printable(kept))")
            log.error("\(failure)")
            throw failure
        }
        throw Failure(path: file.path, reason: "it belongs to a later version")
    }
}
