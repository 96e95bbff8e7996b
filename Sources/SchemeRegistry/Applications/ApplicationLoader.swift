public import Desktop
internal import UserFiles

/// Loads the desktop's applications, and loads them again reading only the entries that have changed.
public struct ApplicationLoader: Sendable {
    /// The applications as of the last look at the desktop's files.
    public private(set) var applications = Applications()

    private let directories: DesktopDirectories
    private var known: [DesktopFile.Location: Known] = [:]
    private var loaded: Loaded?
    /// How many entries have been read since there is this loader.
    private(set) var readCount = 0

    private struct Known: Sendable {
        let version: FileVersion
        let file: DesktopFile
    }

    private struct Loaded: Sendable, Hashable {
        let entries: DesktopEntries
        let associations: MimeAssociations
    }

    /// A loader that has not looked at the files yet.
    public init(_ directories: DesktopDirectories) {
        self.directories = directories
    }

    /// What the applications depend on: the directories of entries, and the files of associations.
    ///
    /// Where a program is installed or removed that an entry asks for (`TryExec`), none of these changes.
    public var paths: Set<String> {
        Set(directories.applicationDirectories + directories.associationFiles.map(\.path))
    }

    /// Looks at all files, in one pass that blocks on them.
    ///
    /// - Parameter handlers: whose own entries are taken as such without a look into them, as there may be very many and the
    ///   applications do not depend on them; the next update reads them.
    /// - Returns: whether the applications are others now.
    public mutating func update(assumingEntriesOf handlers: [Handler] = []) -> Bool {
        update(assumingEntriesOf: handlers, now: currentTime())
    }

    mutating func update(assumingEntriesOf handlers: [Handler] = [], now: Int64) -> Bool {
        var assumed: [DesktopFileID: Handler] = [:]
        for handler in handlers { if let id = handler.desktopFileID { assumed[id] = handler } }
        let (locations, diagnostics) = DesktopEntries.locations(in: directories)
        var next: [DesktopFile.Location: Known] = [:]
        let files = locations.map { location in
            if location.precedence == 0, let handler = assumed[location.id] {
                return DesktopFile(assuming: location, of: handler.id.rawValue)
            }
            let before = version(of: location)
            if let known = known[location], known.version == before {
                next[location] = known
                return known.file
            }
            let file = DesktopFile(reading: location, languages: directories.languages)
            readCount += 1
            if let before, before == version(of: location), before.isSettled(at: now) {
                next[location] = Known(version: before, file: file)
            }
            return file
        }
        known = next
        let current = Loaded(
            entries: DesktopEntries(of: files, in: directories, diagnostics: diagnostics),
            associations: MimeAssociations(loading: directories)
        )
        guard current != loaded else { return false }
        loaded = current
        applications = Applications(entries: current.entries, associations: current.associations)
        return true
    }

    /// `nil` if there is no such file any more, which reading it reports.
    private func version(of location: DesktopFile.Location) -> FileVersion? {
        do throws(FileError) {
            return FileVersion(try status(of: location.file, followingLinks: true))
        } catch {
            return nil
        }
    }
}
