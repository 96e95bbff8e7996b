internal import Glibc
internal import UserFiles

/// What a manifest's file says: a handler, or what is wrong with it.
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

/// Reads manifests, and each version of a file once only.
struct ManifestFiles: Sendable {
    /// The largest manifest, in bytes.
    static let sizeLimit = 1 << 20

    private var cached: [String: CachedManifest] = [:]
    private var used: Set<String> = []
    /// The paths of which something else is in memory than in the cache's file.
    private var unsaved: Set<String> = []
    /// How many files have been read.
    private(set) var readCount = 0

    /// What a file says, from a path with all links resolved.
    ///
    /// - Parameters:
    ///   - known: the file's status, if it has just been asked for.
    ///   - now: the time of day.
    mutating func read(_ path: String, _ known: stat?, now: Int64) throws(FileError) -> ManifestReading {
        let version =
            if let known { FileVersion(known) } else { FileVersion(try status(of: path, followingLinks: false)) }
        used.insert(path)
        if let cached = cached[path], cached.version == version { return cached.reading }
        readCount += 1
        let reading = ManifestReading(bytes: try contents(ofFile: path, limit: Self.sizeLimit))
        let isOneVersion = FileVersion(try status(of: path, followingLinks: false)) == version
        let isCertain = isOneVersion && version.isSettled(at: now)
        cached[path] = isCertain ? CachedManifest(version: version, reading: reading) : nil
        unsaved.insert(path)
        return reading
    }

    /// Counts a file as asked for.
    mutating func keep(_ path: String) {
        used.insert(path)
    }

    /// Forgets the files that have not been asked for since the last call.
    mutating func forgetUnused() {
        if used.count < cached.count {
            unsaved.formUnion(cached.keys.filter { !used.contains($0) })
            cached = cached.filter { used.contains($0.key) }
        }
        used = []
    }

    /// Takes up what a cache has kept.
    mutating func restore(from cache: ManifestCache) throws(ManifestCache.Failure) {
        cached = try cache.read()
    }

    /// Has a cache keep what is in memory.
    mutating func save(to cache: ManifestCache) throws(ManifestCache.Failure) {
        guard !unsaved.isEmpty else { return }
        let paths = unsaved
        let kept = cached.filter { paths.contains($0.key) }
        try cache.write(kept, forgetting: paths.filter { kept[$0] == nil })
        unsaved = []
    }
}
