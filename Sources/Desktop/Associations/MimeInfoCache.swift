public import UserFiles

/// `mimeinfo.cache` of one directory of entries: what GLib looks up instead of reading the entries.
///
/// An entry claims nothing as far as GLib is concerned until it is in here. A change looks at the lines concerned only, so that
/// it takes milliseconds among 100,000 types, and replaces the file in one step. Where there is no cache, or one that is not
/// written like those of `update-desktop-database`, it is made from all entries in the directory, as that does.
public struct MimeInfoCache: Sendable {
    /// The directory that holds entries and cache.
    public let directory: String
    /// Where the cache is.
    public var path: String { "\(directory)/mimeinfo.cache" }

    /// The largest cache that is changed, in bytes.
    public static let limit = 64 << 20

    /// The file that is known to be in order, so that its lines can be found by halves.
    private var ordered: FileVersion?

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
    ) throws(FileWriteError) {
        let types = Set(types.compactMap(validMimeType))
        let before = Set(before.compactMap(validMimeType))
        guard let file = try orderedFile() else {
            // The entry may not have been written yet, or not be deleted.
            return try rebuild(with: [id: Array(types)])
        }
        let edits = try attempt { () throws(FileError) in
            try file.edits(noting: id, claims: types, insteadOf: before)
        }
        guard !edits.isEmpty else { return }
        ordered = try replaceDerivedFile(path, size: file.size(with: edits)) { (output) throws(FileError) in
            try file.copy(to: output, with: edits)
        }
    }

    /// Makes the cache anew from the entries in the directory.
    public mutating func rebuild() throws(FileWriteError) {
        try rebuild(with: [:])
    }

    /// Whether it says of some entries just what they claim, and names no files that are not there: not so if a loss of power
    /// or an ended process has left another, or zeros, or nothing of it.
    ///
    /// - Parameter isThere: whether there is a file of an ID in the directory.
    public mutating func agrees(
        with entries: [DesktopEntry],
        isThere: (DesktopFileID) -> Bool
    ) throws(FileWriteError) -> Bool {
        guard let file = try openFile() else { return entries.allSatisfy(\.mimeTypes.isEmpty) }
        let contents = try attempt { () throws(FileError) in try file.contents() }
        guard MimeCacheFile.areOrdered(contents) else { return false }
        ordered = file.version
        return MimeCacheFile.agree(contents, with: entries, isThere: isThere)
    }

    /// The file that there is, if it is in order.
    private mutating func orderedFile() throws(FileWriteError) -> MimeCacheFile? {
        guard let file = try openFile() else { return nil }
        if file.version == ordered { return file }
        let contents = try attempt { () throws(FileError) in try file.contents() }
        guard MimeCacheFile.areOrdered(contents) else { return nil }
        ordered = file.version
        return file
    }

    private func openFile() throws(FileWriteError) -> MimeCacheFile? {
        do throws(FileError) {
            return try MimeCacheFile(path, limit: Self.limit)
        } catch {
            if error.isAbsence { return nil }
            throw FileWriteError(path, error.reason)
        }
    }

    private func attempt<Result>(_ body: () throws(FileError) -> Result) throws(FileWriteError) -> Result {
        do throws(FileError) {
            return try body()
        } catch {
            throw FileWriteError(path, error.reason)
        }
    }

    /// Makes the cache anew of what the entries in the directory claim, and of what some claim instead of that.
    private mutating func rebuild(with changes: [DesktopFileID: [String]]) throws(FileWriteError) {
        var listing = DesktopFileListing(precedence: 0)
        listing.list(directory)
        var claims: [DesktopFileID: [String]] = [:]
        for location in listing.locations.values {
            guard case .application(let entry) = DesktopFile(reading: location, languages: []).content else { continue }
            claims[entry.id] = entry.mimeTypes
        }
        claims.merge(changes) { $1 }
        var ids: [String: [DesktopFileID]] = [:]
        for (id, types) in claims {
            for type in types { ids[type, default: []].append(id) }
        }
        var contents = MimeCacheFile.heading
        for (type, ids) in ids.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            contents += Array("\(type)=\(KeyFileText.strings(ids.sorted().map(\.rawValue)))\n".utf8)
        }
        ordered = try replaceDerivedFile(path, size: contents.count) { (output) throws(FileError) in
            try write(contents[...], to: output)
        }
    }
}
