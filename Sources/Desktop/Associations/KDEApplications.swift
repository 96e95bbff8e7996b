internal import UserFiles

/// The applications among which KDE chooses the one that opens a MIME type.
///
/// KDE does not follow MIME Applications Associations to the letter. These are the rules of KService 6, in
/// `KBuildServiceFactory::populateServiceTypes` and `KMimeAssociations`:
///
/// - Each entry that claims the type is an offer with the preference 1, unless its menu keys exclude it from KDE.
/// - The association files are read from the last to the first. The preferences of the first file begin at 1000, and
///   those of each further file begin 50 higher. A file's added associations become offers, and its defaults become
///   offers whose preferences begin 25 higher. Within a line, each preference is 1 lower than the one before. A file's
///   removed associations withdraw the earlier offers of those applications.
/// - The offer with the greatest preference opens the type. Among equal offers, chance decides, because their order
///   comes from a hash table.
public struct KDEApplications: Sendable {
    private let entries: DesktopEntries
    /// The contents of the files that exist, in order of precedence.
    private let lists: [AssociationLists]

    private static let desktop = "KDE"

    /// Reads the association files that KDE reads in a KDE session.
    ///
    /// If a file cannot be read, it has no effect.
    ///
    /// - Parameters:
    ///   - environment: the session's variables.
    ///   - entries: the installed applications.
    public init(environment: [String: String], entries: DesktopEntries) {
        self.entries = entries
        let directories = DesktopDirectories(
            environment: environment.merging(["XDG_CURRENT_DESKTOP": Self.desktop]) { $1 }
        )
        // Only GLib reads the older file.
        let files = directories.associationFiles.filter { !$0.path.hasSuffix("/defaults.list") }
        lists = files.compactMap { file in
            do throws(FileError) {
                return try AssociationLists(reading: file)
            } catch {
                return nil
            }
        }
    }

    /// Returns the applications that KDE prefers for a type: none, one, or several among which chance decides.
    public func preferred(for mimeType: String) -> [DesktopFileID] {
        let type = asciiLowercased(mimeType)
        var offers: [DesktopFileID: Int] = [:]
        for entry in entries.entries.values where entry.mimeTypes.contains(type) && Self.isShown(entry) {
            offers[entry.id] = 1
        }
        func add(_ ids: [DesktopFileID]?, _ preference: Int) {
            for (index, id) in (ids ?? []).enumerated() where entries.entries[id] != nil {
                offers[id] = max(offers[id] ?? 0, preference - index)
            }
        }
        for (index, list) in lists.reversed().enumerated() {
            let preference = 1000 + 50 * index
            add(list.added[type], preference)
            for id in list.removed[type] ?? [] { offers[id] = nil }
            add(list.defaults[type], preference + 25)
        }
        let greatest = offers.values.max()
        return offers.filter { $0.value == greatest }.keys.sorted()
    }

    /// Whether the keys `OnlyShowIn` and `NotShowIn` allow KDE to show an entry.
    private static func isShown(_ entry: DesktopEntry) -> Bool {
        func names(_ key: String) -> [Substring]? {
            DesktopFile.writtenValue(of: key, inFile: entry.file)?.split(separator: ";")
        }
        if let only = names("OnlyShowIn") { return only.contains(desktop[...]) }
        return names("NotShowIn")?.contains(desktop[...]) != true
    }
}
