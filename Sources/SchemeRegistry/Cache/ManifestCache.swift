internal import Glibc
internal import SQLite
internal import UserFiles

/// What manifests said, kept in a file from one start to the next, so that only those are read which have changed.
///
/// It saves time and holds no truth: a row counts for the version of the file that it was made from, and only as long as
/// its checksum is right. A file that is damaged is replaced, any other that cannot be used is left alone.
public struct ManifestCache: Sendable {
    /// Why there is no cache for now.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        let path: String
        let reason: String

        /// The file and the reason.
        public var description: String { "the cache \(printable(path)) is not used: \(reason)" }
    }

    let path: String
    private let writer: String

    /// Number of the tables' form; a file with a higher one belongs to a later version of the program.
    private static let schemaVersion: Int64 = 1
    /// "oURL", by which the file is told from other programs' databases.
    private static let applicationID: Int64 = 0x6F55_524C

    /// A cache in a file.
    ///
    /// - Parameter writer: what tells builds of the program apart, as one that understands manifests otherwise must not use
    ///   what this one understood.
    init(path: String, writer: String) {
        self.path = path
        self.writer = writer
    }

    /// The cache of this program: `$XDG_CACHE_HOME/openurl/registry.sqlite`, or below `$HOME/.cache`.
    ///
    /// - Returns: nil if the environment gives neither, or the program's own file cannot be told.
    public init?(environment: [String: String]) {
        guard let directory = BaseDirectories(environment: environment).cacheHome else { return nil }
        do throws(FileError) {
            let program = FileVersion(try status(of: "/proc/self/exe", followingLinks: true))
            self.init(path: "\(directory)/openurl/registry.sqlite", writer: "\(program)")
        } catch {
            return nil
        }
    }

    /// Everything that is kept and can be used. Blocks on the file.
    func read() throws(Failure) -> [String: CachedManifest] {
        guard try isThere() else { return [:] }
        var manifests: [String: CachedManifest] = [:]
        try use(.existing) { database, state throws(SQLiteError) in
            guard state == .current else { return }
            let rows = try database.prepare("SELECT path, manifest FROM manifests")
            while try rows.step() {
                let path = rows.text(0)
                manifests[path] = rows.withBytes(1) { CachedManifest(bytes: $0, path: path, writer: writer) }
            }
        }
        return manifests
    }

    /// Keeps some manifests and forgets others. Blocks on the file.
    func write(_ manifests: [String: CachedManifest], forgetting paths: [String]) throws(Failure) {
        if try !isThere() { try makeDirectory() }
        try use(.created) { database, state throws(SQLiteError) in
            // What a crash of the machine may leave behind is a damaged cache, which is replaced.
            try database.execute("PRAGMA synchronous = OFF")
            try database.transaction { () throws(SQLiteError) in
                if state == .empty { try makeTables(in: database) }
                let insert = try database.prepare("INSERT OR REPLACE INTO manifests VALUES (?, ?)")
                for (path, manifest) in manifests {
                    try insert.bind(1, path)
                    try insert.bind(2, manifest.encoded(path: path, writer: writer))
                    _ = try insert.step()
                }
                let delete = try database.prepare("DELETE FROM manifests WHERE path = ?")
                for path in paths {
                    try delete.bind(1, path)
                    _ = try delete.step()
                }
            }
        }
    }

    // MARK: The file

    private enum State {
        case empty
        case current
        case foreign
        case later
    }

    private func use(
        _ mode: Database.Mode,
        _ body: (Database, State) throws(SQLiteError) -> Void
    ) throws(Failure) {
        let state: State
        do throws(SQLiteError) {
            let database = try Database(path: path, mode)
            state = try self.state(of: database)
            if state == .empty || state == .current { try body(database, state) }
        } catch {
            guard error.isDamage || error.isInvalidStatement else { throw failure(error.message) }
            // Its journal is part of it.
            for file in ["\(path)-journal", path] where unlink(file) != 0 && errno != ENOENT {
                throw failure("\(error); it cannot be removed: \(FileError(code: errno))")
            }
            throw failure("\(error); it is made anew")
        }
        switch state {
        case .empty, .current: return
        case .foreign: throw failure("it belongs to another program")
        case .later: throw failure("it belongs to a later version")
        }
    }

    private func state(of database: Database) throws(SQLiteError) -> State {
        let application = try database.pragma("application_id")
        let version = try database.pragma("user_version")
        if application == 0, version == 0, try database.pragma("schema_version") == 0 { return .empty }
        guard application == Self.applicationID else { return .foreign }
        return version > Self.schemaVersion ? .later : .current
    }

    private func makeTables(in database: Database) throws(SQLiteError) {
        try database.execute(
            """
            PRAGMA application_id = \(Self.applicationID);
            PRAGMA user_version = \(Self.schemaVersion);
            CREATE TABLE manifests (path TEXT PRIMARY KEY, manifest BLOB NOT NULL);
            """
        )
    }

    /// Whether there is a file; anything else at its place is an error.
    private func isThere() throws(Failure) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return false }
            throw failure(FileError(code: errno).reason)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure("it is \(fileTypeName(status)), not a file") }
        return true
    }

    private func makeDirectory() throws(Failure) {
        do throws(DirectoryError) {
            try makePrivateDirectories(parentDirectory(of: path))
        } catch {
            throw failure(error.error.reason)
        }
    }

    private func failure(_ reason: String) -> Failure {
        Failure(path: path, reason: reason)
    }
}
