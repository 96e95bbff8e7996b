public import UserFiles

/// The `mimeinfo.cache` file in a directory of entries, in which GLib looks up types instead of reading the entries.
///
/// For GLib, an entry claims nothing until the cache lists it. A change reads only the lines concerned, so it takes
/// milliseconds in a cache with 100,000 types, and it replaces the file in one step. If the cache is missing, or does
/// not look the way `update-desktop-database` writes it, a change creates it again from all the entries in the
/// directory, as `update-desktop-database` does.
public struct MimeInfoCache: Sendable {
    /// The directory with the entries and the cache.
    public let directory: String
    /// The cache's path.
    public var path: String { "\(directory)/mimeinfo.cache" }

    /// Maximum size of a cache that can be changed, in bytes.
    public static let limit = 64 << 20

    /// How often another program may change the cache while a change is being made.
    private static let attempts = 8

    /// The version of the file whose lines are known to be in order and can therefore be found by a binary search.
    private var ordered: FileVersion?

    /// Creates a value for the cache of a directory of entries.
    public init(directory: String) {
        self.directory = directory
    }

    /// Records a change in the types that an entry claims.
    ///
    /// This adds the entry to the lines of `types`, and removes it from the lines of all types that are only in
    /// `before`. Types are written in lower case. Text that is not a MIME type is left out, as it is when an entry is
    /// read.
    ///
    /// - Returns: whether the cache is complete, as from ``rebuild()``.
    @discardableResult
    public mutating func update(
        _ id: DesktopFileID,
        claims types: some Sequence<String>,
        insteadOf before: some Sequence<String>
    ) throws(FileWriteError) -> Bool {
        let types = Set(types.compactMap(validMimeType))
        let before = Set(before.compactMap(validMimeType))
        for _ in 0..<Self.attempts {
            guard let file = try orderedFile() else {
                // The entry's file may not have been written or deleted yet, so use the new claims from the arguments.
                return try rebuild(with: [id: Array(types)])
            }
            let edits = try attempt { () throws(FileError) in
                try file.edits(noting: id, claims: types, insteadOf: before)
            }
            guard !edits.isEmpty else { return true }
            let isReplaced = try replace(file.version, size: file.size(with: edits)) { (output) throws(FileError) in
                try file.copy(to: output, with: edits)
            }
            if isReplaced { return true }
        }
        throw disturbed
    }

    /// Creates the cache again from the entries in the directory.
    ///
    /// A cache that already has the right contents is not touched.
    ///
    /// - Returns: whether the cache is complete. If not, it lacks entries that the device could not read, and has to be
    ///   created again.
    @discardableResult
    public mutating func rebuild() throws(FileWriteError) -> Bool {
        try rebuild(with: [:])
    }

    /// Returns whether the cache lists exactly the types that some entries claim, and only files that exist.
    ///
    /// After a power failure, or after a process has ended unexpectedly, the cache may be out of date, contain zeros,
    /// or be missing. In these cases, the result is `false`.
    ///
    /// - Parameters:
    ///   - entries: The entries to compare with the cache.
    ///   - isThere: Returns whether the directory has a file with this ID.
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

    /// Opens the cache; returns `nil` if it is missing or not in order.
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
            throw FileWriteError(path, error)
        }
    }

    private func attempt<Result>(_ body: () throws(FileError) -> Result) throws(FileWriteError) -> Result {
        do throws(FileError) {
            return try body()
        } catch {
            throw FileWriteError(path, error)
        }
    }

    /// Replaces the cache with new contents, unless another program has changed or replaced it in the meantime.
    ///
    /// - Parameters:
    ///   - version: the version from which the new contents were made; `nil` if there was no cache.
    ///   - write: writes the contents to an open file.
    /// - Returns: whether the cache was replaced.
    mutating func replace(
        _ version: FileVersion?,
        size: Int,
        _ write: (Int32) throws(FileError) -> Void
    ) throws(FileWriteError) -> Bool {
        do throws(FileWriteError) {
            ordered = try replaceDerivedFile(path, size: size) { (output) throws(FileError) in
                try write(output)
                guard try currentVersion() == version else { throw MimeCacheFile.changed }
            }
            return true
        } catch {
            // A program that changes the file in place may have caused any error.
            guard try attempt({ () throws(FileError) in try currentVersion() }) != version else { throw error }
            return false
        }
    }

    /// Returns the version of the file that is at the path now; `nil` if there is none.
    private func currentVersion() throws(FileError) -> FileVersion? {
        do throws(FileError) {
            return FileVersion(try status(of: path, followingLinks: true))
        } catch {
            guard error.isAbsence else { throw error }
            return nil
        }
    }

    private var disturbed: FileWriteError { FileWriteError(path, "is being changed by another program all the time") }

    /// Creates the cache again from the claims made by the directory's entries. For IDs that are in `changes`, the
    /// claims there count instead.
    private mutating func rebuild(with changes: [DesktopFileID: [String]]) throws(FileWriteError) -> Bool {
        for _ in 0..<Self.attempts {
            let version = try attempt { () throws(FileError) in try currentVersion() }
            let (contents, isComplete) = try attempt { () throws(FileError) in try self.contents(with: changes) }
            // After every change, the whole desktop reads the cache again.
            if has(contents) { return isComplete }
            let isReplaced = try replace(version, size: contents.count) { (output) throws(FileError) in
                try write(contents[...], to: output)
            }
            if isReplaced { return isComplete }
        }
        throw disturbed
    }

    private func has(_ contents: [UInt8]) -> Bool {
        do throws(FileError) {
            return try UserFiles.contents(ofFile: path, limit: contents.count) == contents
        } catch {
            // A cache that cannot be read is written again.
            return false
        }
    }

    /// Returns the contents of a cache of the directory's entries. For IDs that are in `changes`, the claims there
    /// count instead.
    ///
    /// - Returns: the contents, and whether the device could read all entries.
    /// - Throws: only the error of a shortage or of the directory itself, either of which hides more than a few entries.
    private func contents(
        with changes: [DesktopFileID: [String]]
    ) throws(FileError) -> (contents: [UInt8], isComplete: Bool) {
        var listing = DesktopFileListing(precedence: 0)
        listing.list(directory)
        var errors = Array(listing.unread.values)
        var claims: [DesktopFileID: [String]] = [:]
        for location in listing.locations.values {
            do throws(FileError) {
                claims[location.id] = try DesktopFile.listedTypes(at: location)
            } catch {
                errors.append(error)
            }
        }
        if let error = listing.unread[directory] ?? errors.first(where: \.isShortage) { throw error }
        claims.merge(changes) { $1 }
        var ids: [String: [DesktopFileID]] = [:]
        for (id, types) in claims {
            for type in types { ids[type, default: []].append(id) }
        }
        var contents = MimeCacheFile.heading
        for (type, ids) in ids.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            contents += Array("\(type)=\(KeyFileText.strings(ids.sorted().map(\.rawValue)))\n".utf8)
        }
        return (contents, errors.isEmpty)
    }
}
