internal import Desktop

/// What a manifest's file says: a handler, or what is wrong with it.
enum ManifestReading: Sendable, Hashable {
    case manifest(HandlerManifest)
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

    private var known: [String: CachedManifest] = [:]
    private var used: Set<String> = []
    /// The paths of which something else is known than is kept in the cache.
    private var unsaved: Set<String> = []
    /// How many files have been read.
    private(set) var readCount = 0

    /// What a file says, from a path with all links resolved.
    ///
    /// - Parameter now: the time of day, which a test sets.
    mutating func read(_ path: String, now: Int64 = currentTime()) throws(FileError) -> ManifestReading {
        let version = FileVersion(try status(of: path, followingLinks: false))
        used.insert(path)
        if let known = known[path], known.version == version { return known.reading }
        readCount += 1
        let reading = ManifestReading(bytes: try contents(ofFile: path, limit: Self.sizeLimit))
        let isOneVersion = FileVersion(try status(of: path, followingLinks: false)) == version
        let isKnown = isOneVersion && version.isSettled(at: now)
        known[path] = isKnown ? CachedManifest(version: version, reading: reading) : nil
        unsaved.insert(path)
        return reading
    }

    /// Forgets the files that have not been asked for since the last call.
    mutating func forgetUnused() {
        if used.count < known.count {
            unsaved.formUnion(known.keys.filter { !used.contains($0) })
            known = known.filter { used.contains($0.key) }
        }
        used = []
    }

    /// Takes up what a cache has kept.
    mutating func restore(from cache: ManifestCache) throws(ManifestCache.Failure) {
        known = try cache.read()
    }

    /// Has a cache keep what is known now.
    mutating func save(to cache: ManifestCache) throws(ManifestCache.Failure) {
        guard !unsaved.isEmpty else { return }
        let paths = unsaved
        let kept = known.filter { paths.contains($0.key) }
        try cache.write(kept, forgetting: paths.filter { kept[$0] == nil })
        unsaved = []
    }
}
