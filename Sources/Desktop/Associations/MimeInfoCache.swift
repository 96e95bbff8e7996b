/// `mimeinfo.cache` of one directory of entries: what GLib looks up instead of reading the entries.
///
/// An entry claims nothing as far as GLib is concerned until it is in here. A change looks at the lines concerned only, so that
/// it takes milliseconds among 100,000 types, and replaces the file in one step. Where there is no cache, or something that
/// `update-desktop-database` would not have written, one is made from all entries in the directory, as that does.
public struct MimeInfoCache: Sendable, Hashable {
    /// The directory that holds entries and cache.
    public let directory: String
    /// Where the cache is.
    public var path: String { "\(directory)/mimeinfo.cache" }

    /// The largest cache that is changed, in bytes.
    public static let limit = 64 << 20

    static let groupName = "MIME Cache"

    /// What was written last, whose lines need not be looked at to know that they are in order.
    private var written: FileVersion?

    /// The cache of a directory of entries.
    public init(directory: String) {
        self.directory = directory
    }

    /// Notes that an entry claims other types than before: it is added to those and taken from these.
    ///
    /// Types are written in lower case; those that are no MIME types are left out, as they are when the entry is read.
    public mutating func update(
        _ id: DesktopFileID,
        claims types: some Sequence<String>,
        insteadOf before: some Sequence<String>
    ) throws(DesktopWriteError) {
        let types = Set(types.compactMap(validMimeType))
        let before = Set(before.compactMap(validMimeType))
        let old = MimeCacheContents(try contents(ofChangedFile: path, limit: Self.limit) ?? [])
        // As it is after it was read, so that what has been put in its place meanwhile is not taken for what is known.
        let isKnown = written != nil && written == currentVersion
        if isKnown || old.isOrdered {
            guard let pieces = old.changing(id, claims: types, insteadOf: before) else { return }
            written = try replaceDerivedFile(path, with: pieces)
        } else {
            // The entry may not have been written yet, or not be deleted.
            let made = madeFromEntries()
            let pieces = made.changing(id, claims: types, insteadOf: before) ?? [made.bytes[...]]
            written = try replaceDerivedFile(path, with: pieces)
        }
    }

    /// Makes the cache anew from the entries in the directory.
    public mutating func rebuild() throws(DesktopWriteError) {
        written = try replaceDerivedFile(path, with: [madeFromEntries().bytes[...]])
    }

    /// Makes the cache anew if a loss of power has left nothing or zeros of it.
    public mutating func repair() throws(DesktopWriteError) {
        guard let bytes = try contents(ofChangedFile: path, limit: Self.limit) else { return }
        if bytes.isEmpty || bytes.contains(0) { try rebuild() }
    }

    private var currentVersion: FileVersion? {
        do throws(FileError) {
            return FileVersion(try status(of: path, followingLinks: true))
        } catch {
            return nil
        }
    }

    private func madeFromEntries() -> MimeCacheContents {
        var listing = DesktopFileListing(precedence: 0)
        listing.list(directory)
        var claims: [String: [DesktopFileID]] = [:]
        for location in listing.locations.values {
            guard case .application(let entry) = DesktopFile(reading: location, languages: []).content else { continue }
            for type in entry.mimeTypes { claims[type, default: []].append(entry.id) }
        }
        return MimeCacheContents(claims)
    }
}
