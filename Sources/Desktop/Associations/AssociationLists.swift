internal import UserFiles

/// The associations in a `mimeapps.list` or similar file.
struct AssociationLists: Sendable {
    private(set) var defaults: [String: [DesktopFileID]] = [:]
    private(set) var added: [String: [DesktopFileID]] = [:]
    private(set) var removed: [String: [DesktopFileID]] = [:]
    private(set) var diagnostics: [Diagnostic] = []

    /// Creates the associations of a file that does not exist.
    init() {}

    static let defaultGroup = "Default Applications"
    static let addedGroup = "Added Associations"
    static let removedGroup = "Removed Associations"

    /// Reads a file. Returns `nil` if it does not exist.
    init?(reading place: AssociationFile) throws(FileError) {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try contents(ofFile: place.path, limit: MimeAssociations.limit, followingLinks: true)
        } catch {
            guard error.isAbsence else { throw error }
            return nil
        }
        let file = KeyFile(bytes, groups: [Self.defaultGroup, Self.addedGroup, Self.removedGroup])
        var problems = Problems(file: place.path)
        for problem in file.malformed + file.repeated { problems.add(.warning, problem) }
        defaults = Self.lists(file, Self.defaultGroup, &problems)
        if place.onlyDefaults {
            // MIME Applications Associations: "The desktop-specific files can only be used to specify the default
            // application."
            for group in [Self.addedGroup, Self.removedGroup] where file.hasGroup(group) {
                problems.add(.warning, "[\(group)]", "is ignored in this file, which can only name defaults")
            }
        } else {
            added = Self.lists(file, Self.addedGroup, &problems)
            removed = Self.lists(file, Self.removedGroup, &problems)
        }
        diagnostics = problems.diagnostics
    }

    private static func lists(
        _ file: KeyFile,
        _ name: String,
        _ problems: inout Problems
    ) -> [String: [DesktopFileID]] {
        let entries = file.entries(of: name)
        var lists: [String: [DesktopFileID]] = [:]
        lists.reserveCapacity(entries.count)
        for (key, value, _) in entries {
            func problem(_ reason: String, _ kind: Diagnostic.Kind? = nil) {
                problems.add(.warning, "[\(name)] \(printable(String(decoding: key, as: UTF8.self)))", reason, kind)
            }
            guard let type = validMimeType(String(decoding: key, as: UTF8.self)) else {
                problem("is not a MIME type")
                continue
            }
            do {
                let ids = try value.strings().compactMap { text in
                    let id = DesktopFileID(rawValue: text)
                    if id == nil { problem("contains '\(printable(text))', which is not a desktop file ID") }
                    return id
                }
                if lists.updateValue(ids, forKey: type) != nil { problem("appears twice", .repetition) }
            } catch {
                problem(error.reason)
            }
        }
        return lists
    }
}
