internal import Glibc
public import UserFiles

/// The applications that a machine's desktop entries declare, as found in one pass over the directories.
public struct DesktopEntries: Sendable, Hashable {
    /// All installed applications, by ID.
    ///
    /// If several files have the same ID, the first valid entry whose programs are installed counts, in order of
    /// precedence. A `Hidden` entry ends the search: if it comes first, there is no application. As in GLib, an
    /// unusable entry does not hide a later one.
    public let entries: [DesktopFileID: DesktopEntry]
    /// The valid entries that are left out because their programs are not installed.
    public let ignored: [DesktopEntry]
    /// The problems with files, and with entries that exist but cannot be used.
    public let diagnostics: [Diagnostic]

    /// For each ID, the index of the directory with the first file. Even if that file is unusable, it hides the claims
    /// in all later files with the same ID.
    private let firstDirectory: [DesktopFileID: Int]
    /// The claims on each MIME type, ordered by precedence, then by ID.
    ///
    /// Only the first file with an ID has claims, even if the entry in use comes from another file. Entries written for
    /// the registry's handlers are left out, because the registry knows their claims best, and there may be very many
    /// of them.
    private let claims: [String: [Claim]]

    /// An application's claim on a MIME type, made by an entry in one directory.
    package struct Claim: Sendable, Hashable {
        package var precedence: Int
        package var id: DesktopFileID

        package init(precedence: Int, id: DesktopFileID) {
            self.precedence = precedence
            self.id = id
        }
    }

    /// Creates a value without any applications.
    public init() {
        entries = [:]
        ignored = []
        diagnostics = []
        firstDirectory = [:]
        claims = [:]
    }

    /// Loads all entries in one pass. Blocks while it reads.
    public init(loading directories: DesktopDirectories) {
        let (locations, diagnostics) = Self.locations(in: directories)
        let files = locations.map { DesktopFile(reading: $0, languages: directories.languages) }
        self.init(of: files, in: directories, diagnostics: diagnostics)
    }

    /// Combines the contents of files, which must be in the order of ``locations(in:)``.
    ///
    /// This accesses the file system only to find out whether programs are installed.
    ///
    /// - Parameters:
    ///   - silent: the programs whose file systems are not responding. They count as not installed.
    ///   - progress: called with the path of each program before the file system is asked for it.
    public init(
        of files: [DesktopFile],
        in directories: DesktopDirectories,
        diagnostics: [Diagnostic] = [],
        leavingOut silent: Set<String> = [],
        progress: (String) -> Void = { _ in }
    ) {
        var programs = ProgramSearch(directories.searchPath, leavingOut: silent)
        var entries: [DesktopFileID: DesktopEntry] = [:]
        var ignored: [DesktopEntry] = []
        var removed: Set<DesktopFileID> = []
        var firstDirectory: [DesktopFileID: Int] = [:]
        var claims: [String: [Claim]] = [:]
        var diagnostics = diagnostics
        for file in files {
            let id = file.location.id
            let isFirst = firstDirectory[id] == nil
            if isFirst { firstDirectory[id] = file.location.precedence }
            diagnostics += file.diagnostics
            guard entries[id] == nil, !removed.contains(id) else { continue }
            switch file.content {
            case .other, .invalid: break
            case .hidden: removed.insert(id)
            case .application(let entry):
                if isFirst, entry.handler == nil {
                    let claim = Claim(precedence: entry.precedence, id: id)
                    for type in entry.mimeTypes { claims[type, default: []].append(claim) }
                }
                if let problem = programs.problem(of: entry, progress) {
                    diagnostics.append(problem)
                    ignored.append(entry)
                } else {
                    entries[id] = entry
                }
            }
        }
        self.entries = entries
        self.ignored = ignored
        self.diagnostics = diagnostics
        self.firstDirectory = firstDirectory
        self.claims = claims
    }

    /// Returns the applications whose entries claim a MIME type, ordered by precedence, then by ID.
    ///
    /// The caches of `update-desktop-database` have the same order. The entries of the registry's handlers are left
    /// out.
    public func claimants(of mimeType: String) -> [DesktopEntry] {
        claims(of: asciiLowercased(mimeType)).compactMap { entries[$0.id] }
    }

    /// Returns the claims on a MIME type, which must be given in lower case, ordered by precedence, then by ID.
    package func claims(of type: String) -> [Claim] { claims[type, default: []] }

    /// Returns whether there is a file with this ID, usable or not.
    package func hasFile(of id: DesktopFileID) -> Bool { firstDirectory[id] != nil }

    /// Returns whether the first file with this ID is in the directory with this index.
    package func isFirstFile(of id: DesktopFileID, in precedence: Int) -> Bool { firstDirectory[id] == precedence }

    /// Returns whether an earlier directory has a file with the same ID.
    ///
    /// Such a file hides the claims and associations that the ID has in this directory.
    func isShadowed(_ id: DesktopFileID, in precedence: Int) -> Bool {
        firstDirectory[id].map { $0 < precedence } ?? false
    }
}

extension DesktopEntries {
    /// Finds the entry files in all directories, ordered by precedence, then by ID.
    ///
    /// If two files in one directory have the same ID, only the less deeply nested one is in the result. Names that
    /// start with a dot are left out. A missing directory contributes nothing. A directory that is unreadable, or
    /// nested deeper than ``depthLimit``, becomes a diagnostic.
    public static func locations(
        in directories: DesktopDirectories
    ) -> (locations: [DesktopFile.Location], diagnostics: [Diagnostic]) {
        let (locations, diagnostics, _) = Self.locations(in: directories, keeping: [DesktopFile.Location]())
        return (locations, diagnostics)
    }

    /// Finds the entry files again, as ``locations(in:)`` does.
    ///
    /// - Parameters:
    ///   - before: the files that were found earlier. They stay where a temporary error prevents the reading of a
    ///     directory.
    ///   - silent: the paths whose file systems are not responding. Such a directory is left out, and such an entry
    ///     counts as a file.
    ///   - progress: called with each path before the file system is asked for it.
    /// - Returns: the files, the problems, and whether a temporary error prevented the reading of a directory.
    package static func locations(
        in directories: DesktopDirectories,
        keeping before: some Collection<DesktopFile.Location>,
        leavingOut silent: Set<String> = [],
        progress: (String) -> Void = { _ in }
    ) -> (locations: [DesktopFile.Location], diagnostics: [Diagnostic], isStale: Bool) {
        var locations: [DesktopFile.Location] = []
        var diagnostics: [Diagnostic] = []
        var isStale = false
        for (precedence, directory) in directories.applicationDirectories.enumerated() {
            var listing = DesktopFileListing(precedence: precedence)
            listing.list(directory, leavingOut: silent, progress: progress)
            if !listing.unread.isEmpty {
                isStale = true
                listing.add(before.filter { $0.precedence == precedence })
            }
            locations += listing.locations.values.sorted { $0.id < $1.id }
            diagnostics += listing.diagnostics
        }
        return (locations, diagnostics, isStale)
    }

    /// Maximum depth of the directories that are searched. This also ends cycles of links.
    public static let depthLimit = 8
}

/// The entry files in one directory and in the directories below it, found level by level.
struct DesktopFileListing {
    let precedence: Int
    private(set) var locations: [DesktopFileID: DesktopFile.Location] = [:]
    private(set) var diagnostics: [Diagnostic] = []
    /// The paths of the directories that could not be read because of a temporary error, and of the names that may be
    /// directories.
    private(set) var unread: [String: FileError] = [:]

    init(precedence: Int) {
        self.precedence = precedence
    }

    mutating func list(
        _ directory: String,
        leavingOut silent: Set<String> = [],
        progress: (String) -> Void = { _ in }
    ) {
        var level: [(path: String, prefix: [String])] = [(directory, [])]
        // A link back to a listed directory would add nothing.
        var seen: Set<FileIdentity> = []
        while !level.isEmpty {
            var below: [(path: String, prefix: [String])] = []
            for (path, prefix) in level where !silent.contains(path) {
                progress(path)
                do throws(FileError) {
                    let names = try names(inDirectory: path) ?? []
                    guard seen.insert(FileIdentity(try status(of: path, followingLinks: true))).inserted else {
                        continue
                    }
                    for bytes in names {
                        guard let name = String(validating: bytes, as: UTF8.self) else {
                            let text = String(decoding: bytes, as: UTF8.self)
                            report("\(path)/\(text)", "has a name that is not UTF-8")
                            continue
                        }
                        let entry = "\(path)/\(name)"
                        progress(entry)
                        let isDirectory = !silent.contains(entry) && isDirectory(entry)
                        if name.hasSuffix(DesktopFileID.suffix), !isDirectory {
                            add(entry, prefix + [name])
                            continue
                        }
                        guard isDirectory else { continue }
                        if prefix.count == DesktopEntries.depthLimit {
                            report(entry, "is a directory nested too deeply to be searched")
                        } else {
                            below.append((entry, prefix + [name]))
                        }
                    }
                } catch {
                    // The directory was removed after it was listed.
                    if error != FileError(code: ENOENT) { report(path, error.reason) }
                    if error.isTemporary { unread[path] = error }
                }
            }
            level = below
        }
    }

    /// Adds the files that were found earlier in the directories that could not be read now, unless a file with the same ID
    /// was found now.
    mutating func add(_ earlier: [DesktopFile.Location]) {
        for location in earlier where locations[location.id] == nil && isUnread(location.file) {
            locations[location.id] = location
        }
    }

    private func isUnread(_ file: String) -> Bool { unread.keys.contains { file.hasPrefix("\($0)/") } }

    private mutating func add(_ file: String, _ path: [String]) {
        guard let id = DesktopFileID(path: path) else {
            return report(file, "has a name that is not a desktop file ID")
        }
        if let other = locations[id] {
            report(file, "has the ID of \(printable(other.file)), which is used instead")
        } else {
            locations[id] = DesktopFile.Location(id: id, file: file, precedence: precedence)
        }
    }

    private mutating func isDirectory(_ path: String) -> Bool {
        do throws(FileError) {
            return try status(of: path, followingLinks: true).st_mode & S_IFMT == S_IFDIR
        } catch {
            if error.isTemporary { unread[path] = error }
            return false
        }
    }

    private mutating func report(_ file: String, _ reason: String) {
        diagnostics.append(Diagnostic(severity: .error, file: file, reason: reason))
    }
}

/// A file's identity, regardless of its name.
private struct FileIdentity: Hashable {
    let device: dev_t
    let inode: ino_t

    init(_ status: stat) {
        device = status.st_dev
        inode = status.st_ino
    }
}

/// A search for programs that looks for each only once.
private struct ProgramSearch {
    private let directories: [String]
    private let silent: Set<String>
    private var known: [String: Bool] = [:]

    init(_ directories: [String], leavingOut silent: Set<String>) {
        self.directories = directories
        self.silent = silent
    }

    /// Returns the problem that makes an application unusable; `nil` if there is none.
    ///
    /// About `TryExec`, the specification says: "If the file is not present or if it is not executable, the entry may
    /// be ignored". GLib also ignores an entry if the program in `Exec` is missing, even if the application is
    /// activated over D-Bus.
    mutating func problem(of entry: DesktopEntry, _ progress: (String) -> Void) -> Diagnostic? {
        for (key, program) in [("TryExec", entry.tryProgram), ("Exec", entry.command?.program)] {
            if let program, !isInstalled(program, progress) {
                let reason = "is \(printable(program)), which is not a program here, so the entry is ignored"
                return Diagnostic(severity: .warning, file: entry.file, key: key, reason: reason)
            }
        }
        return nil
    }

    private mutating func isInstalled(_ program: String, _ progress: (String) -> Void) -> Bool {
        if let answer = known[program] { return answer }
        let candidates = program.utf8.contains(UInt8(ascii: "/")) ? [program] : directories.map { "\($0)/\(program)" }
        let answer = candidates.contains { path in
            guard path.hasPrefix("/"), !silent.contains(path) else { return false }
            progress(path)
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
                && access(path, X_OK) == 0
        }
        known[program] = answer
        return answer
    }
}
