internal import ByteCoding
internal import CLinux
internal import DBus
internal import Glibc
public import Logging
internal import OpenURLBus
public import Reactor
internal import SQLite
internal import UserFiles

/// The log of the requests that have ended: a ring buffer in a file that only its user may read.
///
/// Because read and write operations block, the log has its own thread. If the system crashes, the last entries may be
/// lost.
public actor RequestLog {
    /// The environment variable that turns the log off if its value is `off`.
    public static let variable = "OPENURL_LOG"

    private let path: String
    private let capacity: Int
    private let loop: EventLoop
    private let log: Logger
    private var database: Database?
    /// Number of entries in the file, as far as this router knows. A router on another bus adds to the file too, so the
    /// entries are counted again once as many have been added as the log can hold. Counting them each time would mean
    /// reading the whole file.
    private var known: (entries: Int, additions: Int)?

    /// This log's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Finds this user's log: `$XDG_STATE_HOME/openurl/log.sqlite`, or below `$HOME/.local/state`. The first entry
    /// creates the file.
    ///
    /// - Parameter loop: A loop whose thread may block.
    /// - Returns: Nil if the environment has neither variable, or turns the log off.
    public init?(environment: [String: String], on loop: EventLoop, log: Logger) {
        guard environment[Self.variable] != "off",
            let directory = BaseDirectories(environment: environment).stateHome
        else { return nil }
        self.init(path: "\(directory)/openurl/log.sqlite", on: loop, log: log)
    }

    init(path: String, capacity: Int = MonitorInterface.capacity, on loop: EventLoop, log: Logger) {
        self.path = path
        self.capacity = capacity
        self.loop = loop
        self.log = log
    }

    /// Adds requests that have ended. Entries that are too old are removed and, if there are still too many, the
    /// earliest ones too.
    ///
    /// - Parameter missing: The number of requests for which there was no room.
    func add(_ requests: [ObservedRequest], missing: Int) {
        if missing > 0 { log.warning("\(missing) requests are missing from the log, because the disk is slow") }
        var reasons = ChoiceReasons()
        add(requests.lazy.map { $0.entry(&reasons) }, at: WallClock.microseconds)
    }

    func add(_ entries: some Sequence<MonitorEntry>, at now: UInt64) {
        do throws(FileError) {
            try using { database throws(SQLiteError) in
                try database.transaction { () throws(SQLiteError) in
                    let insert = try database.prepare("INSERT OR REPLACE INTO entries (time, entry) VALUES (?, ?)")
                    var added = 0
                    var writer = ByteWriter()
                    for entry in entries {
                        writer.removeAll()
                        entry.write(to: &writer)
                        try insert.bind(1, Int64(clamping: entry.time))
                        try insert.bind(2, writer.bytes)
                        _ = try insert.step()
                        added += 1
                    }
                    try prune(database, added: added, at: now)
                }
            }
        } catch {
            log.error("the log \(printable(path)) cannot be used: \(error)")
        }
    }

    /// Removes entries that are too old, and the earliest ones if there are too many.
    private func prune(_ database: Database, added: Int, at now: UInt64) throws(SQLiteError) {
        let expired = try database.prepare("DELETE FROM entries WHERE time < ?")
        let kept = UInt64(MonitorInterface.keptTime / .microseconds(1))
        try expired.bind(1, Int64(clamping: now > kept ? now - kept : 0))
        _ = try expired.step()
        let removed = database.changes

        var count: (entries: Int, additions: Int)
        if let known, known.additions < capacity {
            count = (known.entries + added - removed, known.additions + added)
        } else {
            let all = try database.prepare("SELECT count(*) FROM entries")
            count = (try all.step() ? Int(all.integer(0)) : 0, 0)
        }
        if count.entries > capacity {
            let first = try database.prepare(
                "DELETE FROM entries WHERE time <= (SELECT time FROM entries ORDER BY time LIMIT 1 OFFSET ?)"
            )
            try first.bind(1, Int64(count.entries - capacity - 1))
            _ = try first.step()
            count.entries -= database.changes
        }
        known = count
    }

    /// Returns the entries that a filter selects, latest first.
    ///
    /// - Throws: `failed` if the log cannot be read.
    func entries(
        _ filter: MonitorFilter,
        at now: UInt64 = WallClock.microseconds
    ) throws(RemoteError) -> [MonitorEntry] {
        let limit = min(filter.limit.map { Int($0) } ?? .max, MonitorInterface.pageSize)
        let kept = UInt64(MonitorInterface.keptTime / .microseconds(1))
        // If nothing has been written recently, old entries are still there.
        let earliest = max(filter.since ?? 0, now > kept ? now - kept : 0)
        var entries: [MonitorEntry] = []
        do throws(FileError) {
            try using { database throws(SQLiteError) in
                entries = []
                let rows = try database.prepare(
                    "SELECT time, entry FROM entries WHERE time >= ? AND time < ? ORDER BY time DESC"
                )
                try rows.bind(1, Int64(clamping: earliest))
                try rows.bind(2, filter.before.map { Int64(clamping: $0) } ?? .max)
                while entries.count < limit, try rows.step() {
                    let time = UInt64(clamping: rows.integer(0))
                    let entry = rows.withBytes(1) { self.entry(at: time, from: $0) }
                    if let entry, filter.matches(entry) { entries.append(entry) }
                }
            }
        } catch {
            throw RemoteError(.failed, "the log \(printable(path)) cannot be used: \(error)")
        }
        return entries
    }

    // MARK: The file

    private func entry(at time: UInt64, from bytes: UnsafeRawBufferPointer) -> MonitorEntry? {
        var reader = ByteReader(bytes)
        do throws(ByteReader.Mismatch) {
            return try MonitorEntry(time: time, from: &reader)
        } catch {
            // This entry was written by another version.
            return nil
        }
    }

    /// Uses the file. A file that is damaged or comes from a later version is replaced with a new one, because it is
    /// only a log.
    ///
    /// This throws the reason, worded to follow a colon.
    private func using(_ body: (Database) throws(SQLiteError) -> Void) throws(FileError) {
        do throws(FileError) {
            _ = try PrivateDirectory(parentDirectory(of: path), isMade: true)
        } catch {
            throw FileError("its directory \(error)")
        }
        guard !isLink(path) else { throw FileError("it is a link, which is not followed; remove it") }
        for isLast in [false, true] {
            do throws(SQLiteError) {
                if database == nil { database = try open() }
                if let database { try body(database) }
                return
            } catch {
                database = nil
                known = nil
                guard !isLast, error.isDamage || error.isInvalidStatement else { throw FileError("\(error)") }
                for suffix in ["-wal", "-shm", ""] { unlink(path + suffix) }
            }
        }
    }

    private func open() throws(SQLiteError) -> Database {
        let database = try Database(privateFile: path, .off)
        try database.execute(
            "CREATE TABLE IF NOT EXISTS entries (time INTEGER PRIMARY KEY, entry BLOB NOT NULL)"
        )
        return database
    }
}
