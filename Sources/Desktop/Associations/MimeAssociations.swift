public import UserFiles

/// The applications that open MIME types, as the user and the system have chosen them: the contents of all
/// `mimeapps.list` files, in order of precedence.
///
/// The rules are those of MIME Applications Associations 1.0.1. On two points, this type follows GLib instead, because
/// `gio open`, file managers and portals use GLib:
///
/// - A default application need not be associated with the type. The line that makes it the default is enough, even if
///   another line removes the association.
/// - An entry that cannot be used does not hide an entry with the same ID in a later directory.
///
/// Where GLib is simply wrong, this type follows the specification: a `Hidden` entry is never a default, and a
/// directory's file also removes associations that entries in the same directory claim. A malformed line is ignored
/// alone, although GLib ignores the whole file.
///
/// Case does not matter in comparisons of types (RFC 2045 section 5.1). Aliases and parents of MIME types do not count,
/// because the types that stand for URL schemes have neither.
public struct MimeAssociations: Sendable, Hashable {
    /// Problems in the files. An unusable line has no effect, and the other lines still count.
    public let diagnostics: [Diagnostic]

    /// The associations that the files in one directory add and remove.
    private struct Directory: Sendable, Hashable {
        /// The directory's index among the directories for entries; `nil` for a configuration directory.
        var precedence: Int?
        var added: [String: [DesktopFileID]] = [:]
        var removed: [String: [DesktopFileID]] = [:]
    }

    /// Whether a temporary error prevented the reading of a file. Comparisons leave this out.
    package let isStale: Bool

    /// The contents of each file when it was read, by its path. A file that does not exist is empty. Comparisons leave this
    /// out.
    private let files: [String: AssociationLists]
    private let defaults: [String: [DesktopFileID]]
    /// Directories with files that add or remove associations, in order of precedence.
    private let directories: [Directory]

    /// Maximum size of an association file, in bytes.
    public static let limit = 16 << 20

    /// Creates an empty set of associations.
    public init() {
        diagnostics = []
        isStale = false
        files = [:]
        defaults = [:]
        directories = []
    }

    /// Reads all files in one pass. Blocks while it reads. A missing file has no effect.
    ///
    /// - Parameters:
    ///   - before: the associations that were read earlier. They stay in force for a file that cannot be read because of
    ///     a temporary error.
    ///   - silent: the paths whose file systems are not responding. They count as missing.
    ///   - progress: called with each path before the file system is asked for it.
    public init(
        loading directories: DesktopDirectories,
        keeping before: MimeAssociations = MimeAssociations(),
        leavingOut silent: Set<String> = [],
        progress: (String) -> Void = { _ in }
    ) {
        var defaults: [String: [DesktopFileID]] = [:]
        var associations: [Directory] = []
        var diagnostics: [Diagnostic] = []
        var files: [String: AssociationLists] = [:]
        var isStale = false
        for place in directories.associationFiles where !silent.contains(place.path) {
            progress(place.path)
            let file: AssociationLists
            do throws(FileError) {
                file = try AssociationLists(reading: place) ?? AssociationLists()
            } catch {
                if error.isTemporary { isStale = true }
                guard error.isTemporary, let known = before.files[place.path] else {
                    diagnostics.append(Diagnostic(severity: .error, file: place.path, reason: error.reason))
                    continue
                }
                file = known
            }
            files[place.path] = file
            diagnostics += file.diagnostics
            if defaults.isEmpty { defaults = file.defaults } else { defaults.merge(file.defaults) { $0 + $1 } }
            guard !file.added.isEmpty || !file.removed.isEmpty else { continue }
            // There is at most one element per directory, because only `mimeapps.list` adds or removes associations.
            associations.append(Directory(precedence: place.precedence, added: file.added, removed: file.removed))
        }
        self.isStale = isStale
        self.files = files
        self.defaults = defaults
        self.directories = associations
        self.diagnostics = diagnostics
    }

    /// Compares only what is in the files, because the beginning and the end of a shortage change nothing.
    public static func == (one: MimeAssociations, other: MimeAssociations) -> Bool {
        one.defaults == other.defaults && one.directories == other.directories && one.diagnostics == other.diagnostics
    }

    /// Hashes only what is in the files.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(defaults)
        hasher.combine(directories)
        hasher.combine(diagnostics)
    }

    /// All schemes that appear in any of the files, in lower case.
    public var urlSchemes: Set<String> {
        var types = Set(defaults.keys)
        for directory in directories {
            types.formUnion(directory.added.keys)
            types.formUnion(directory.removed.keys)
        }
        let schemes = types.lazy.filter { $0.hasPrefix(schemeHandlerPrefix) }
        return Set(schemes.map { String($0.dropFirst(schemeHandlerPrefix.count)) })
    }

    /// Returns the IDs that the files list as defaults, in order of precedence. The applications with these IDs need
    /// not be installed.
    public func defaults(for mimeType: String) -> [DesktopFileID] {
        var seen: Set<DesktopFileID> = []
        return defaults[asciiLowercased(mimeType), default: []].filter { seen.insert($0).inserted }
    }

    /// Returns the path of the first file that makes an entry the default for a type; nil if none does. This reads the
    /// files again.
    package static func file(
        choosing id: DesktopFileID,
        for mimeType: String,
        in directories: DesktopDirectories
    ) -> String? {
        file(in: directories) { $0.defaults[asciiLowercased(mimeType)]?.contains(id) == true }
    }

    /// Returns the path of the first file that removes an entry's association with a type; nil if none does. This reads
    /// the files again.
    package static func file(
        removing id: DesktopFileID,
        from mimeType: String,
        in directories: DesktopDirectories
    ) -> String? {
        file(in: directories) { $0.removed[asciiLowercased(mimeType)]?.contains(id) == true }
    }

    private static func file(
        in directories: DesktopDirectories,
        where matches: (AssociationLists) -> Bool
    ) -> String? {
        directories.associationFiles.first { place in
            do throws(FileError) {
                return try AssociationLists(reading: place).map(matches) ?? false
            } catch {
                // A file that cannot be read has no effect.
                return false
            }
        }?.path
    }

    /// Returns the application that opens a type: the first of ``candidates(for:in:)``.
    public func defaultApplication(for mimeType: String, in entries: DesktopEntries) -> DesktopEntry? {
        candidates(for: mimeType, in: entries).first
    }

    /// Returns every application that may open a type, the best first: the installed defaults, then all others from
    /// ``associated(with:in:)``.
    public func candidates(for mimeType: String, in entries: DesktopEntries) -> [DesktopEntry] {
        let defaults = defaults(for: mimeType).compactMap { entries.entries[$0] }
        let ids = Set(defaults.map(\.id))
        return defaults + associated(with: mimeType, in: entries).filter { !ids.contains($0.id) }
    }

    /// Returns the applications that are associated with a type, the best first. GLib calls them the recommended
    /// applications.
    ///
    /// The directories come in order of precedence. Each contributes the applications that its file adds, and then
    /// those whose entries in it claim the type. An application is left out in these cases ("Adding/removing
    /// associations"):
    ///
    /// - The same directory's file removes it, and does not add it.
    /// - An earlier directory's file removes it.
    /// - An earlier directory has an entry with the same ID, which hides the later one.
    public func associated(with mimeType: String, in entries: DesktopEntries) -> [DesktopEntry] {
        let type = asciiLowercased(mimeType)
        return associations(with: type, claims: entries.claims(of: type), in: entries).compactMap {
            entries.entries[$0.id]
        }
    }

    /// Returns the associations with a type, given in lower case, in the order of ``associated(with:in:)``, including
    /// those for programs that are not installed.
    ///
    /// - Parameters:
    ///   - claims: the claims on the type, ordered by precedence, then by ID.
    ///   - entries: the entries that decide whether an entry hides one in a later directory.
    package func associations(
        with type: String,
        claims: [DesktopEntries.Claim],
        in entries: DesktopEntries
    ) -> [(id: DesktopFileID, isAdded: Bool)] {
        var result: [(id: DesktopFileID, isAdded: Bool)] = []
        var decided: Set<DesktopFileID> = []
        func append(_ id: DesktopFileID, isAdded: Bool) {
            if decided.insert(id).inserted { result.append((id, isAdded)) }
        }
        var claims = claims[...]
        // Appends the entries that claim the type in directories before `precedence`.
        func appendClaims(before precedence: Int) {
            while let claim = claims.first, claim.precedence < precedence {
                claims.removeFirst()
                append(claim.id, isAdded: false)
            }
        }
        for directory in directories {
            if let precedence = directory.precedence { appendClaims(before: precedence) }
            func isInForce(_ id: DesktopFileID) -> Bool {
                directory.precedence.map { !entries.isShadowed(id, in: $0) } ?? true
            }
            for id in directory.added[type, default: []] where isInForce(id) { append(id, isAdded: true) }
            for id in directory.removed[type, default: []] where isInForce(id) { decided.insert(id) }
        }
        appendClaims(before: .max)
        return result
    }

    /// Returns the IDs that the files list for a type, as defaults and as added or removed associations.
    package func names(for mimeType: String) -> Set<DesktopFileID> {
        let type = asciiLowercased(mimeType)
        let others = directories.flatMap { $0.added[type, default: []] + $0.removed[type, default: []] }
        return Set(defaults[type, default: []] + others)
    }

    /// Returns whether the files remove an entry's claim on a type.
    ///
    /// The first file that adds or removes the association decides. If it does both, the association is kept. Only
    /// files in configuration directories, in the entry's directory and in earlier directories count.
    ///
    /// - Parameter precedence: The index of the entry's directory; `nil` takes all files into account.
    public func isRemoved(_ id: DesktopFileID, from mimeType: String, declaredIn precedence: Int? = nil) -> Bool {
        let type = asciiLowercased(mimeType)
        for directory in directories where (directory.precedence ?? 0) <= precedence ?? .max {
            if directory.added[type]?.contains(id) == true { return false }
            if directory.removed[type]?.contains(id) == true { return true }
        }
        return false
    }
}
