/// `mimeinfo.cache` of one directory of entries: what GLib looks up instead of reading the entries.
///
/// An entry claims nothing as far as GLib is concerned until it is in here. A change edits the lines concerned, so that
/// it takes milliseconds among 100,000 types, and replaces the file in one step. Where there is no cache, or something
/// that is none, one is made from all entries in the directory, as `update-desktop-database` does.
public struct MimeInfoCache: Sendable, Hashable {
    /// The directory that holds entries and cache.
    public let directory: String
    /// Where the cache is.
    public var path: String { "\(directory)/mimeinfo.cache" }

    /// The largest cache that is changed, in bytes.
    public static let limit = 64 << 20

    static let groupName = "MIME Cache"

    /// The cache of a directory of entries.
    public init(directory: String) {
        self.directory = directory
    }

    /// Notes that an entry claims exactly these types: it is added to them and taken from all others.
    ///
    /// Types are written in lower case; those that are no MIME types are left out, as they are when the entry is read.
    public func add(_ id: DesktopFileID, mimeTypes: some Sequence<String>) throws(DesktopWriteError) {
        try change(id, claims: Set(mimeTypes.compactMap(validMimeType)))
    }

    /// Notes that an entry claims nothing any more.
    public func remove(_ id: DesktopFileID) throws(DesktopWriteError) {
        try change(id, claims: [])
    }

    /// Makes the cache anew from the entries in the directory.
    public func rebuild() throws(DesktopWriteError) {
        try replaceDerivedFile(path, with: [madeFromEntries()[...]])
    }

    /// Makes the cache anew if a loss of power has left nothing or zeros of it.
    public func repair() throws(DesktopWriteError) {
        guard let bytes = try contents(ofChangedFile: path, limit: Self.limit) else { return }
        if bytes.isEmpty || bytes.contains(0) { try rebuild() }
    }

    private func change(_ id: DesktopFileID, claims: Set<String>) throws(DesktopWriteError) {
        let old = try contents(ofChangedFile: path, limit: Self.limit) ?? []
        switch MimeCacheEdit(old, of: id, claims: claims).result {
        case .unchanged: break
        case .changed(let pieces): try replaceDerivedFile(path, with: pieces)
        case .noCache:
            let made = madeFromEntries()
            // The entry may not have been written yet, or not be deleted.
            guard case .changed(let pieces) = MimeCacheEdit(made, of: id, claims: claims).result else {
                return try replaceDerivedFile(path, with: [made[...]])
            }
            try replaceDerivedFile(path, with: pieces)
        }
    }

    private func madeFromEntries() -> [UInt8] {
        var listing = DesktopFileListing(precedence: 0)
        listing.list(directory)
        var claims: [String: [DesktopFileID]] = [:]
        for location in listing.locations.values {
            guard case .application(let entry) = DesktopFile(reading: location, languages: []).content else { continue }
            for type in entry.mimeTypes { claims[type, default: []].append(entry.id) }
        }
        var text = "[\(Self.groupName)]\n"
        for (type, ids) in claims.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            text += "\(type)=\(KeyFileText.strings(ids.sorted().map(\.rawValue)))\n"
        }
        return Array(text.utf8)
    }
}
