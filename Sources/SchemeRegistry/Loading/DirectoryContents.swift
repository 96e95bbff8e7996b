internal import Glibc
internal import UserFiles

/// One of the registry's directories.
struct DirectoryPlace: Sendable {
    let path: String
    let scope: RegistryDirectories.Scope
    let precedence: Int
}

/// The bundles and manifests of one registry directory, by name in byte order.
struct DirectoryContents: Sendable, Hashable {
    private struct Entry: Sendable, Hashable {
        let name: String
        var handler: Handler?
        var diagnostics: [Diagnostic] = []
        /// The property list's path, if it is not the entry itself.
        var dependency: String?
        /// Schemes that the manifest claims, or claimed before it had errors; empty for a handler.
        var brokenClaims: [Scheme] = []
        /// The manifest file's version, if the handler depends on nothing else.
        var ownFile: FileVersion?
        /// Whether the manifest could not be read because of a temporary error.
        var isStale = false
    }

    private var entries: [Entry] = []
    private var problems: [Diagnostic] = []
    /// Whether the directory itself could not be read, because of a temporary error or a silent file system, or an entry
    /// because of a silent file system.
    private var isUnread = false

    /// Whether something is as it was before, because of a temporary error or because the directory's or an entry's file
    /// system is not responding.
    var isStale: Bool { isUnread || entries.contains(where: \.isStale) }

    /// All handlers that the directory declares.
    var handlers: [Handler] { entries.compactMap(\.handler) }

    /// Problems with the directory and its entries.
    var diagnostics: [Diagnostic] { problems + entries.flatMap(\.diagnostics) }

    /// Manifests with errors, by the schemes that they claim or claimed before.
    var brokenManifests: [Scheme: String] {
        var manifests: [Scheme: String] = [:]
        for entry in entries {
            for scheme in entry.brokenClaims { manifests[scheme] = entry.diagnostics.first?.file }
        }
        return manifests
    }

    /// The files on which the directory's contents depend and that are not in the directory itself.
    var dependencies: [String] { entries.compactMap(\.dependency) }

    /// Creates the contents of an empty directory.
    init() {}

    /// Reads the current contents of a directory, but takes unchanged entries from `before`.
    ///
    /// - Parameters:
    ///   - silent: the entries whose file systems are not responding. They stay as they were, and so does everything
    ///     that cannot be read because of a temporary error (``isStale``).
    ///   - progress: called before each entry is read.
    init(
        of place: DirectoryPlace,
        before: DirectoryContents,
        files: inout ManifestFiles,
        now: Int64,
        leavingOut silent: Set<String> = [],
        progress: (_ entry: String) -> Void = { _ in }
    ) {
        do throws(FileError) {
            guard let names = try names(inDirectory: place.path) else { return }
            try files.trust?.check(place.path)
            let resolved = try ResolvedDirectory(place.path)
            var known = before.entries[...]
            for bytes in names {
                guard let name = String(validating: bytes, as: UTF8.self) else {
                    let entry = "\(place.path)/\(String(decoding: bytes, as: UTF8.self))"
                    problems.append(Diagnostic(severity: .error, file: entry, reason: "has a name that is not UTF-8"))
                    continue
                }
                while let first = known.first, first.name.utf8.lexicographicallyPrecedes(bytes) { known.removeFirst() }
                let same = known.first.flatMap { $0.name == name ? $0 : nil }
                if silent.contains(name) {
                    problems.append(Self.silence(of: "\(place.path)/\(name)"))
                    isUnread = true
                    if let same {
                        entries.append(same)
                        Self.keep(same, in: &files)
                    } else {
                        // When a router starts, no entry is known yet, and this one may lead to a manifest anywhere.
                        files.keepAll()
                    }
                    continue
                }
                progress(name)
                if let entry = Self.entry(name, in: place, resolved, before: same, files: &files, now: now) {
                    entries.append(entry)
                }
            }
        } catch {
            problems.append(Diagnostic(severity: .error, file: place.path, reason: error.reason))
            // Nothing in the directory has changed, as far as is known.
            if error.isTemporary {
                entries = before.entries
                for entry in entries { Self.keep(entry, in: &files) }
                // When a router starts, no entry is known yet, and links may lead to manifests anywhere.
                if error.isShortage { files.keepAll() }
                isUnread = true
            }
        }
    }

    /// Makes the next reading check every entry, even if its file has not changed.
    mutating func checkAgain() {
        for index in entries.indices { entries[index].ownFile = nil }
    }

    /// Returns the same contents, together with the problem that the directory's file system is not responding.
    func silent(at place: DirectoryPlace, files: inout ManifestFiles) -> DirectoryContents {
        for entry in entries { Self.keep(entry, in: &files) }
        // When a router starts, no entry is known yet, and links may lead to manifests anywhere.
        if entries.isEmpty { files.keepAll() }
        var contents = self
        contents.problems = [Self.silence(of: place.path)]
        contents.isUnread = true
        return contents
    }

    private static func silence(of file: String) -> Diagnostic {
        Diagnostic(severity: .error, file: file, reason: "is on a file system that is not responding")
    }

    /// Rereads the entry that is in effect for this id, and the entries that are named after it.
    ///
    /// - Parameters:
    ///   - entry: the name of the entry that declares the handler now; `nil` if there is none.
    ///   - manifests: known manifests, which are not read again, by the names of their entries.
    /// - Returns: the handlers before and after, and whether the
    ///   entries' problems have changed; `nil` if nothing has changed.
    mutating func look(
        again id: BundleIdentifier,
        declaredBy entry: String?,
        saying manifests: [String: HandlerManifest],
        in place: DirectoryPlace,
        files: inout ManifestFiles,
        now: Int64
    ) -> (removed: [Handler], added: [Handler], haveProblemsChanged: Bool)? {
        var names: Set<String> = [HandlerForm.bundle.entryName(of: id), HandlerForm.manifest.entryName(of: id)]
        names.formUnion(manifests.keys)
        if let entry { names.insert(entry) }
        var (old, new): ([Entry], [Entry]) = ([], [])
        for name in names {
            let position = position(of: name)
            guard position < entries.endIndex, entries[position].name == name else { continue }
            old.append(entries.remove(at: position))
        }
        let resolved: ResolvedDirectory
        do throws(FileError) {
            resolved = try ResolvedDirectory(place.path)
        } catch {
            // The directory has been removed in the meantime. An update of the whole directory will report that.
            return old.isEmpty ? nil : (old.compactMap(\.handler), [], true)
        }
        for name in names where unsafe faccessat(AT_FDCWD, "\(place.path)/\(name)", F_OK, AT_SYMLINK_NOFOLLOW) == 0 {
            let manifest = manifests[name]
            guard let entry = Self.entry(name, in: place, resolved, saying: manifest, files: &files, now: now) else {
                continue
            }
            entries.insert(entry, at: position(of: name))
            new.append(entry)
        }
        let haveProblemsChanged = old.flatMap(\.diagnostics) != new.flatMap(\.diagnostics)
        return old == new ? nil : (old.compactMap(\.handler), new.compactMap(\.handler), haveProblemsChanged)
    }

    /// Marks the manifest of an entry that cannot be read now, so that it is not forgotten.
    private static func keep(_ entry: Entry, in files: inout ManifestFiles) {
        if let path = entry.handler?.manifestPath { files.keep(path) }
    }

    /// Returns the position of the entry with this name, or the position where it belongs.
    private func position(of name: String) -> Int {
        var (low, high) = (entries.startIndex, entries.endIndex)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].name.utf8.lexicographicallyPrecedes(name.utf8) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// Reads the declaration in an entry; nil if the file is neither a bundle nor a manifest.
    private static func entry(
        _ name: String,
        in place: DirectoryPlace,
        _ directory: ResolvedDirectory,
        before: Entry? = nil,
        saying manifest: HandlerManifest? = nil,
        files: inout ManifestFiles,
        now: Int64
    ) -> Entry? {
        guard let form = HandlerForm(name: name) else { return nil }
        let file = RegistryEntry(path: "\(place.path)/\(name)", form: form, in: directory)
        let ownFile = file.ownFile
        if let ownFile, let before, before.ownFile == ownFile.version, before.handler?.path == ownFile.path {
            files.keep(ownFile.path)
            return before
        }
        var entry = Entry(name: name, dependency: file.leadsElsewhere ? file.manifestFile : nil)
        do throws(InvalidEntry) {
            let (handler, warnings) = try file.handler(
                scope: place.scope,
                precedence: place.precedence,
                named: name,
                saying: manifest,
                from: &files,
                now: now
            )
            entry.handler = handler
            entry.diagnostics = warnings
            // Check a relative program path each time, because links along the path may lead elsewhere by now. If the
            // caller passed the manifest, it may be from a version of the file other than the one just checked.
            if manifest == nil, let version = ownFile?.version, version.isSettled(at: now),
                handler.manifest.executable?.isRelative != true
            {
                entry.ownFile = version
            }
        } catch {
            entry.isStale = error.isTemporary
            if error.isTemporary, var before {
                before.isStale = true
                // The next update reads the manifest again.
                before.ownFile = nil
                keep(before, in: &files)
                return before
            }
            entry.diagnostics = error.diagnostics
            entry.brokenClaims = before?.handler?.schemes ?? before?.brokenClaims ?? []
            if entry.brokenClaims.isEmpty { entry.brokenClaims = HandlerManifest.claims(inFile: file.manifestFile) }
        }
        return entry
    }
}
