internal import Glibc
public import UserFiles

/// The applications of a machine, as its desktop entries declare them: all that one look at the directories found.
public struct DesktopEntries: Sendable, Hashable {
    /// The applications that are installed.
    ///
    /// Of entries with one ID it is the first, in order of precedence, that is valid and whose programs are there; none
    /// if an entry that is `Hidden` comes before. That an entry of no use gives way to the next is GLib's rule.
    public let entries: [DesktopFileID: DesktopEntry]
    /// The entries that are valid, and left out as their programs are not there.
    public let ignored: [DesktopEntry]
    /// What is wrong with files, and with entries that are there and cannot be used.
    public let diagnostics: [Diagnostic]

    /// The directory of the first file of each ID, whether or not it is of use: it hides the claims of those after it.
    private let firstDirectory: [DesktopFileID: Int]
    /// Who claims a MIME type: only what the first file of an ID says counts, also if it is the entry in another file
    /// that is used. By precedence, then in the order of IDs. Without the entries that were written for handlers of the
    /// registry, of which there may be very many: that knows best what its handlers claim.
    private let claims: [String: [Claim]]

    /// That an application opens a type, according to a file in some directory.
    struct Claim: Sendable, Hashable {
        var precedence: Int
        var id: DesktopFileID
    }

    /// No application at all.
    public init() {
        entries = [:]
        ignored = []
        diagnostics = []
        firstDirectory = [:]
        claims = [:]
    }

    /// Loads all entries, in one pass that blocks on files.
    public init(loading directories: DesktopDirectories) {
        let (locations, diagnostics) = Self.locations(in: directories)
        let files = locations.map { DesktopFile(reading: $0, languages: directories.languages) }
        self.init(of: files, in: directories, diagnostics: diagnostics)
    }

    /// Puts together what files say, in the order of ``locations(in:)``. Asks the file system only whether programs are
    /// there.
    public init(of files: [DesktopFile], in directories: DesktopDirectories, diagnostics: [Diagnostic] = []) {
        var programs = ProgramSearch(directories.searchPath)
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
                if let problem = programs.problem(of: entry) {
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

    /// The applications whose entries claim a MIME type, by precedence, then in the order of IDs, as the caches of
    /// `update-desktop-database` have them; without the entries of the registry's handlers.
    public func claimants(of mimeType: String) -> [DesktopEntry] {
        claims(of: asciiLowercased(mimeType)).compactMap { entries[$0.id] }
    }

    /// The claims on a MIME type in lower case, in order.
    func claims(of type: String) -> [Claim] { claims[type, default: []] }

    /// Whether there is a file of an ID, of use or not.
    package func hasFile(of id: DesktopFileID) -> Bool { firstDirectory[id] != nil }

    /// Whether the first file of an ID is in this directory.
    package func isFirstFile(of id: DesktopFileID, in precedence: Int) -> Bool { firstDirectory[id] == precedence }

    /// Whether a file of the same ID in an earlier directory hides what is said of it in this one.
    func isShadowed(_ id: DesktopFileID, in precedence: Int) -> Bool {
        firstDirectory[id].map { $0 < precedence } ?? false
    }
}

extension DesktopEntries {
    /// The files of entries in all directories, by precedence, then in the order of IDs, and of two with one ID in one
    /// directory only the one that is less deep.
    ///
    /// Names that start with a dot are left out. A directory that does not exist holds nothing; one that cannot be read,
    /// or is deeper than ``depthLimit``, is a diagnostic.
    public static func locations(
        in directories: DesktopDirectories
    ) -> (locations: [DesktopFile.Location], diagnostics: [Diagnostic]) {
        var locations: [DesktopFile.Location] = []
        var diagnostics: [Diagnostic] = []
        for (precedence, directory) in directories.applicationDirectories.enumerated() {
            var listing = DesktopFileListing(precedence: precedence)
            listing.list(directory)
            locations += listing.locations.values.sorted { $0.id < $1.id }
            diagnostics += listing.diagnostics
        }
        return (locations, diagnostics)
    }

    /// How many directories deep entries are looked for, which ends cycles of links too.
    public static let depthLimit = 8
}

/// The entries in one directory and the directories below it, level by level.
struct DesktopFileListing {
    let precedence: Int
    private(set) var locations: [DesktopFileID: DesktopFile.Location] = [:]
    private(set) var diagnostics: [Diagnostic] = []

    init(precedence: Int) {
        self.precedence = precedence
    }

    mutating func list(_ directory: String) {
        var level: [(path: String, prefix: [String])] = [(directory, [])]
        // Directories that were listed: a link back to one adds nothing.
        var seen: Set<FileIdentity> = []
        while !level.isEmpty {
            var below: [(path: String, prefix: [String])] = []
            for (path, prefix) in level {
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
                        if name.hasSuffix(DesktopFileID.suffix), add(entry, prefix + [name]) { continue }
                        guard isDirectory(entry) else { continue }
                        if prefix.count == DesktopEntries.depthLimit {
                            report(entry, "is a directory too deep to be looked into")
                        } else {
                            below.append((entry, prefix + [name]))
                        }
                    }
                } catch {
                    // The status of what has just been removed.
                    if error != FileError(code: ENOENT) { report(path, error.reason) }
                }
            }
            level = below
        }
    }

    /// Adds a file; `false` if it is a directory.
    private mutating func add(_ file: String, _ path: [String]) -> Bool {
        guard !isDirectory(file) else { return false }
        guard let id = DesktopFileID(path: path) else {
            report(file, "has a name that is no desktop file ID")
            return true
        }
        if let other = locations[id] {
            report(file, "has the ID of \(printable(other.file)), which is used")
        } else {
            locations[id] = DesktopFile.Location(id: id, file: file, precedence: precedence)
        }
        return true
    }

    private func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private mutating func report(_ file: String, _ reason: String) {
        diagnostics.append(Diagnostic(severity: .error, file: file, reason: reason))
    }
}

/// Which file it is, whatever it is called.
private struct FileIdentity: Hashable {
    let device: dev_t
    let inode: ino_t

    init(_ status: stat) {
        device = status.st_dev
        inode = status.st_ino
    }
}

/// Whether programs are there, each looked for once.
private struct ProgramSearch {
    private let directories: [String]
    private var known: [String: Bool] = [:]

    init(_ directories: [String]) {
        self.directories = directories
    }

    /// What keeps an application from being used.
    ///
    /// "If the file is not present or if it is not executable, the entry may be ignored", says the specification of
    /// `TryExec`. GLib ignores it for the program of `Exec` too, even if the application is activated over D-Bus.
    mutating func problem(of entry: DesktopEntry) -> Diagnostic? {
        for (key, program) in [("TryExec", entry.tryProgram), ("Exec", entry.command?.program)] {
            if let program, !isInstalled(program) {
                let reason = "is \(printable(program)), which is no program here, so the entry is ignored"
                return Diagnostic(severity: .warning, file: entry.file, key: key, reason: reason)
            }
        }
        return nil
    }

    private mutating func isInstalled(_ program: String) -> Bool {
        if let answer = known[program] { return answer }
        let candidates = program.contains("/") ? [program] : directories.map { "\($0)/\(program)" }
        let answer = candidates.contains { path in
            var status = stat()
            return path.hasPrefix("/") && stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
                && access(path, X_OK) == 0
        }
        known[program] = answer
        return answer
    }
}
