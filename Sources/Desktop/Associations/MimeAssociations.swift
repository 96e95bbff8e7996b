public import UserFiles

/// Who opens what, as the user and the system decided: all files called `mimeapps.list`, in their precedence.
///
/// MIME Applications Associations 1.0.1, with GLib's answers where it differs, since they are what `gio open`, file
/// managers and portals do:
/// - a default application need not be associated with the type: the line that makes it the default is enough, even if
///   another one removes the association;
/// - an entry that cannot be used does not hide the one of the same ID in a later directory.
///
/// Where GLib is merely mistaken the specification counts: an entry that is `Hidden` is nobody's default, and what a
/// directory of entries removes is removed from its own entries too.
///
/// Types are compared without case (RFC 2045 section 5.1). Aliases and parents of MIME types do not count: the types of
/// schemes have none.
public struct MimeAssociations: Sendable, Hashable {
    /// What is wrong with the files. A line that cannot be used costs that line.
    public let diagnostics: [Diagnostic]

    /// What the files of one directory add and remove.
    private struct Directory: Sendable, Hashable {
        /// The place among the directories of entries; `nil` for one of configuration.
        var precedence: Int?
        var added: [String: [DesktopFileID]] = [:]
        var removed: [String: [DesktopFileID]] = [:]
    }

    private let defaults: [String: [DesktopFileID]]
    /// In order of precedence: those that add or remove anything.
    private let directories: [Directory]

    /// The largest file of associations that is read, in bytes.
    public static let limit = 16 << 20

    /// Says nothing of anything.
    public init() {
        diagnostics = []
        defaults = [:]
        directories = []
    }

    /// Reads all files, in one pass that blocks on them. One that does not exist says nothing.
    public init(loading directories: DesktopDirectories) {
        var defaults: [String: [DesktopFileID]] = [:]
        var associations: [Directory] = []
        var diagnostics: [Diagnostic] = []
        for place in directories.associationFiles {
            let file: AssociationLists
            do throws(FileError) {
                guard let read = try AssociationLists(reading: place) else { continue }
                file = read
            } catch {
                diagnostics.append(Diagnostic(severity: .error, file: place.path, reason: error.reason))
                continue
            }
            diagnostics += file.diagnostics
            if defaults.isEmpty { defaults = file.defaults } else { defaults.merge(file.defaults) { $0 + $1 } }
            guard !file.added.isEmpty || !file.removed.isEmpty else { continue }
            // At most one file in each directory says anything.
            associations.append(Directory(precedence: place.precedence, added: file.added, removed: file.removed))
        }
        self.defaults = defaults
        self.directories = associations
        self.diagnostics = diagnostics
    }

    /// The schemes that any of the files speaks of, in lower case.
    public var urlSchemes: Set<String> {
        var types = Set(defaults.keys)
        for directory in directories {
            types.formUnion(directory.added.keys)
            types.formUnion(directory.removed.keys)
        }
        let schemes = types.lazy.filter { $0.hasPrefix(schemeHandlerPrefix) }
        return Set(schemes.map { String($0.dropFirst(schemeHandlerPrefix.count)) })
    }

    /// The IDs that are named as defaults, in order of precedence, whether or not there are such applications.
    public func defaults(for mimeType: String) -> [DesktopFileID] {
        var seen: Set<DesktopFileID> = []
        return defaults[asciiLowercased(mimeType), default: []].filter { seen.insert($0).inserted }
    }

    /// The application that opens a type: the first of ``candidates(for:in:)``.
    public func defaultApplication(for mimeType: String, in entries: DesktopEntries) -> DesktopEntry? {
        candidates(for: mimeType, in: entries).first
    }

    /// Every application that may open a type, best first: the defaults that are installed, then the others that are
    /// ``associated(with:in:)`` with it.
    public func candidates(for mimeType: String, in entries: DesktopEntries) -> [DesktopEntry] {
        let defaults = defaults(for: mimeType).compactMap { entries.entries[$0] }
        let ids = Set(defaults.map(\.id))
        return defaults + associated(with: mimeType, in: entries).filter { !ids.contains($0.id) }
    }

    /// The applications that are associated with a type, best first: the list that GLib calls recommended.
    ///
    /// Directory by directory, in order of precedence: what is added, then what the directory's own entries claim.
    /// Left out is what the same directory removes without adding it, or an earlier one removes, or an entry of the same
    /// ID in an earlier directory hides ("Adding/removing associations").
    public func associated(with mimeType: String, in entries: DesktopEntries) -> [DesktopEntry] {
        let type = asciiLowercased(mimeType)
        var result: [DesktopEntry] = []
        var decided: Set<DesktopFileID> = []
        func append(_ id: DesktopFileID) {
            if decided.insert(id).inserted, let entry = entries.entries[id] { result.append(entry) }
        }
        var claims = entries.claims(of: type)[...]
        /// Appends the entries that claim the type in directories before the one given.
        func appendClaims(before precedence: Int) {
            while let claim = claims.first, claim.precedence < precedence {
                claims.removeFirst()
                append(claim.id)
            }
        }
        for directory in directories {
            if let precedence = directory.precedence { appendClaims(before: precedence) }
            func isInForce(_ id: DesktopFileID) -> Bool {
                directory.precedence.map { !entries.isShadowed(id, in: $0) } ?? true
            }
            for id in directory.added[type, default: []] where isInForce(id) { append(id) }
            for id in directory.removed[type, default: []] where isInForce(id) { decided.insert(id) }
        }
        appendClaims(before: .max)
        return result
    }

    /// Whether the claim of an entry does not count, because a file of its own directory or an earlier one removes it
    /// and none of these, up to there, adds it.
    ///
    /// - Parameter precedence: the entry's directory; `nil` takes all files into account.
    public func isRemoved(_ id: DesktopFileID, from mimeType: String, declaredIn precedence: Int? = nil) -> Bool {
        let type = asciiLowercased(mimeType)
        for directory in directories where (directory.precedence ?? 0) <= precedence ?? .max {
            if directory.added[type]?.contains(id) == true { return false }
            if directory.removed[type]?.contains(id) == true { return true }
        }
        return false
    }
}
