internal import Glibc
internal import SQLite
internal import UserFiles

/// Why a ``ManifestCache`` is not used for now.
public struct ManifestCacheError: Error, Sendable, Hashable, CustomStringConvertible {
    let path: String
    let reason: String

    /// The file and the reason.
    public var description: String { "the cache \(printable(path)) is not used: \(reason)" }
}

/// A file that keeps the contents of manifests, so that at startup only the manifests that have changed are read.
///
/// The cache only saves time: the manifests are authoritative. A row is used only for the version of the file from
/// which it was made, and only if its checksum is correct. A damaged cache is replaced, but any other file that cannot
/// be used is left as it is.
public struct ManifestCache: Sendable {
    let path: String
    private let writer: String

    /// Version of the tables. A file with a higher number belongs to a later version of the program.
    private static let schemaVersion: Int64 = 1
    /// "oURL", which distinguishes the file from other programs' databases.
    private static let applicationID: Int64 = 0x6F55_524C

    /// Creates a cache in a file.
    ///
    /// - Parameter writer: a string that differs between builds of the program. Another build may read manifests
    ///   differently, so it must not use these rows.
    init(path: String, writer: String) {
        self.path = path
        self.writer = writer
    }

    /// Creates this program's cache: `$XDG_CACHE_HOME/openurl/registry.sqlite`, or the same path below `$HOME/.cache`.
    ///
    /// - Returns: nil if the environment gives neither directory, or if the program's own executable cannot be found.
    public init?(environment: [String: String]) {
        guard let directory = BaseDirectories(environment: environment).cacheHome else { return nil }
        do throws(FileError) {
            let program = FileVersion(try status(of: "/proc/self/exe", followingLinks: true))
            self.init(path: "\(directory)/openurl/registry.sqlite", writer: "\(program)")
        } catch {
            return nil
        }
    }

    /// Reads all usable rows. Blocks while it reads the file.
    func read() throws(ManifestCacheError) -> [String: CachedManifest] {
        guard try isThere() else { return [:] }
        var manifests: [String: CachedManifest] = [:]
        try use(.existing) { database, state throws(SQLiteError) in
            guard state == .current else { return }
            let rows = try database.prepare("SELECT path, manifest FROM manifests")
            while try rows.step() {
                let path = rows.text(0)
                manifests[path] = unsafe rows.withBytes(1) {
                    unsafe CachedManifest(bytes: $0, path: path, writer: writer)
                }
            }
        }
        return manifests
    }

    /// Writes some manifests and removes others. Blocks while it writes the file.
    func write(_ manifests: [String: CachedManifest], forgetting paths: [String]) throws(ManifestCacheError) {
        if try !isThere() { try makeDirectory() }
        try use(.created) { database, state throws(SQLiteError) in
            // A crash of the machine may damage the cache, which is then replaced. Waiting for the disk would cost
            // more.
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
    ) throws(ManifestCacheError) {
        let state: State
        do throws(SQLiteError) {
            let database = try Database(path: path, mode)
            state = try self.state(of: database)
            if state == .empty || state == .current { try body(database, state) }
        } catch {
            guard error.isDamage || error.isInvalidStatement else { throw failure(error.message) }
            // Remove the journal too: left without its database, it would damage the next database of that name.
            for file in ["\(path)-journal", path] where unsafe unlink(file) != 0 && errno != ENOENT {
                throw failure("\(error); it cannot be removed: \(FileError(code: errno))")
            }
            throw failure("\(error); it will be rebuilt")
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

    /// Returns whether the file exists. Because the cache takes the place of manifests, anything but a regular file
    /// that only the user can change is an error.
    private func isThere() throws(ManifestCacheError) -> Bool {
        do throws(FileError) {
            let status = try status(of: path, followingLinks: false)
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw FileError("it is \(fileTypeName(status)), not a file")
            }
            var trust = TrustedPaths()
            try trust.check(path)
            return true
        } catch {
            if error == FileError(code: ENOENT) { return false }
            throw failure(error.reason)
        }
    }

    private func makeDirectory() throws(ManifestCacheError) {
        do throws(DirectoryError) {
            try makePrivateDirectories(parentDirectory(of: path))
        } catch {
            throw failure(error.error.reason)
        }
    }

    private func failure(_ reason: String) -> ManifestCacheError {
        ManifestCacheError(path: path, reason: reason)
    }
}
