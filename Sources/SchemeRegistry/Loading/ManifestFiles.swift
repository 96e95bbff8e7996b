internal import Desktop
internal import Glibc
internal import UserFiles

/// A manifest file's contents: a handler, or the file's problems.
enum ManifestReading: Sendable, Hashable {
    indirect case manifest(HandlerManifest)
    case invalid([ManifestProblem])

    init(bytes: [UInt8]) {
        let list: PropertyListValue
        do throws(PropertyListError) {
            list = try PropertyListValue(bytes: bytes)
        } catch {
            self = .invalid([ManifestProblem(key: nil, reason: "\(error)")])
            return
        }
        let (manifest, problems) = HandlerManifest.decode(list)
        self = manifest.map(Self.manifest) ?? .invalid(problems)
    }
}

/// A reader of manifests that reads each version of a file only once.
struct ManifestFiles: Sendable {
    /// Maximum size of a manifest, in bytes.
    static let sizeLimit = 1 << 20

    /// The files found to be safe from other users during the current update; `nil` if this is not checked.
    var trust: TrustedPaths? = TrustedPaths()
    /// Bus names that belong to other programs.
    var services: DBusServiceNames

    private var cached: [String: CachedManifest] = [:]
    private var used: Set<String> = []
    /// The paths whose contents in memory differ from those in the cache's file.
    private var unsaved: Set<String> = []
    /// Number of files that have been read.
    private(set) var readCount = 0

    /// Creates a reader that has read nothing.
    init(services: DBusServiceNames = DBusServiceNames()) {
        self.services = services
    }

    /// Returns the contents of a file.
    ///
    /// - Parameters:
    ///   - path: the path, with all links resolved.
    ///   - known: the file's status, if the caller has just requested it.
    ///   - now: the current time of day.
    mutating func read(_ path: String, _ known: stat?, now: Int64) throws(FileError) -> ManifestReading {
        let version =
            if let known { FileVersion(known) } else { FileVersion(try status(of: path, followingLinks: false)) }
        used.insert(path)
        if let cached = cached[path], cached.version == version { return cached.reading }
        readCount += 1
        let reading = ManifestReading(bytes: try contents(ofFile: path, limit: Self.sizeLimit))
        // Keep the contents only if the file did not change in the meantime, and if every later change results in a
        // different version.
        let isOneVersion = FileVersion(try status(of: path, followingLinks: false)) == version
        let isCertain = isOneVersion && version.isSettled(at: now)
        cached[path] = isCertain ? CachedManifest(version: version, reading: reading) : nil
        unsaved.insert(path)
        return reading
    }

    /// Marks a file as in use.
    mutating func keep(_ path: String) {
        used.insert(path)
    }

    /// Marks all files as in use.
    mutating func keepAll() {
        used.formUnion(cached.keys)
    }

    /// Ends a pass through all directories, and forgets the files that it has not marked.
    mutating func endPass() {
        if used.count < cached.count {
            unsaved.formUnion(cached.keys.filter { !used.contains($0) })
            cached = cached.filter { used.contains($0.key) }
        }
        used = []
    }

    /// Loads the contents of manifests from a cache.
    mutating func restore(from cache: ManifestCache) throws(ManifestCacheError) {
        cached = try cache.read()
    }

    /// Writes all contents that are not in the cache yet.
    mutating func save(to cache: ManifestCache) throws(ManifestCacheError) {
        guard !unsaved.isEmpty else { return }
        let paths = unsaved
        let kept = cached.filter { paths.contains($0.key) }
        try cache.write(kept, forgetting: paths.filter { kept[$0] == nil })
        unsaved = []
    }
}
