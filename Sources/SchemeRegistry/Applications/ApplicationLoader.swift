public import Desktop
internal import UserFiles

/// A loader of the desktop's applications. When it updates them, it reads only the changed entries again.
public struct ApplicationLoader: Sendable {
    /// The applications at the time of the last update.
    public private(set) var applications = DesktopApplications()

    private let directories: DesktopDirectories
    private var known: [DesktopFile.Location: Known] = [:]
    private var loaded: Loaded?
    /// Number of entries that this loader has read.
    private(set) var readCount = 0
    /// Whether the last update could not read something because of a temporary error. It stayed as it was before, if it
    /// was known.
    private(set) var isStale = false

    private struct Known: Sendable {
        /// The version of the file; nil if the file has to be read again, because it had just changed.
        let version: FileVersion?
        let file: DesktopFile
    }

    private struct Loaded: Sendable, Hashable {
        let entries: DesktopEntries
        let associations: MimeAssociations
    }

    /// Creates a loader that has not read any files.
    public init(_ directories: DesktopDirectories) {
        self.directories = directories
    }

    /// Every path on which the applications depend: the directories of entries, and the files of associations.
    ///
    /// Programs listed in entries' `TryExec` are not among them.
    public var paths: Set<String> {
        Set(directories.applicationDirectories + directories.associationFiles.map(\.path))
    }

    /// Checks all files for changes, and reads the changed ones. Blocks while it reads.
    ///
    /// - Parameters:
    ///   - handlers: the handlers whose own desktop entries are left for the next update, because there may be very
    ///     many of these entries, and the applications do not depend on them.
    ///   - silent: the paths whose file systems are not responding. Such an entry stays as it was, such a program counts as
    ///     not installed, and any other directory or file is left out.
    ///   - progress: called with each path before the file system is asked for it.
    /// - Returns: whether the applications have changed.
    public mutating func update(
        assumingEntriesOf handlers: [Handler] = [],
        leavingOut silent: Set<String> = [],
        progress: (String) -> Void = { _ in }
    ) -> Bool {
        update(assumingEntriesOf: handlers, leavingOut: silent, now: currentTime(), progress: progress)
    }

    mutating func update(
        assumingEntriesOf handlers: [Handler] = [],
        leavingOut silent: Set<String> = [],
        now: Int64,
        progress: (String) -> Void = { _ in }
    ) -> Bool {
        var assumed: [DesktopFileID: Handler] = [:]
        for handler in handlers { if let id = handler.desktopFileID { assumed[id] = handler } }
        let (locations, diagnostics, isListingStale) = DesktopEntries.locations(
            in: directories,
            keeping: known.keys,
            leavingOut: silent,
            progress: progress
        )
        var next: [DesktopFile.Location: Known] = [:]
        isStale = isListingStale
        let files: [DesktopFile] = locations.compactMap { location in
            if location.precedence == 0, let handler = assumed[location.id] {
                return DesktopFile(assuming: location, of: handler.id.rawValue)
            }
            if silent.contains(location.file) {
                next[location] = known[location]
                return known[location]?.file
            }
            progress(location.file)
            let before = version(of: location)
            if let before, let known = known[location], known.version == before {
                next[location] = known
                return known.file
            }
            let file = DesktopFile(reading: location, languages: directories.languages)
            readCount += 1
            if file.isTemporary {
                isStale = true
                guard let known = known[location] else { return file }
                next[location] = known
                return known.file
            }
            // A file system's clock ticks only every few milliseconds, so a file that has just changed could change
            // again without a new time. Read such a file again in the next update.
            let isSettled = before == version(of: location) && before?.isSettled(at: now) == true
            next[location] = Known(version: isSettled ? before : nil, file: file)
            return file
        }
        known = next
        let associations = MimeAssociations(
            loading: directories,
            keeping: loaded?.associations ?? MimeAssociations(),
            leavingOut: silent,
            progress: progress
        )
        if associations.isStale { isStale = true }
        let current = Loaded(
            entries: DesktopEntries(
                of: files,
                in: directories,
                diagnostics: diagnostics,
                leavingOut: silent,
                progress: progress
            ),
            associations: associations
        )
        let hasChanged = current != loaded
        loaded = current
        guard hasChanged else { return false }
        applications = DesktopApplications(entries: current.entries, associations: current.associations)
        return true
    }

    /// Returns the version of a file; `nil` if the file no longer exists. Reading the file will report that.
    private func version(of location: DesktopFile.Location) -> FileVersion? {
        do throws(FileError) {
            return FileVersion(try status(of: location.file, followingLinks: true))
        } catch {
            return nil
        }
    }
}
