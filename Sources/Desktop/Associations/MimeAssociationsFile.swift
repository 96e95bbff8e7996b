public import UserFiles

/// The user's own `mimeapps.list`, opened for changes. `gio mime`, `xdg-mime` and settings programs write to the same
/// file.
///
/// Every change reads the file, edits only the lines concerned, and replaces the file in one step. All other lines stay
/// as they are, including comments and malformed lines. The desktop specifies no lock for the file, so if two programs
/// change it at the same moment, one can undo the other's change.
public struct MimeAssociationsFile: Sendable, Hashable {
    /// The file's path.
    public let path: String

    /// Creates a value for the file in the user's configuration directory; `nil` if there is no such directory.
    public init?(in directories: DesktopDirectories) {
        guard let path = directories.writtenAssociationFile else { return nil }
        self.path = path
    }

    /// Makes an application the default for types, and changes nothing else.
    ///
    /// As in GLib, the application also becomes associated with the types, and is no longer listed as removed, because
    /// the specification allows only an associated application as the default.
    public func setDefault(_ id: DesktopFileID, for mimeTypes: [String]) throws(FileWriteError) {
        var editor = KeyFileEditor(try contents(ofChangedFile: path, limit: MimeAssociations.limit) ?? [])
        for mimeType in mimeTypes {
            guard let type = validMimeType(mimeType) else {
                throw FileWriteError(path, "cannot contain '\(printable(mimeType))', which is not a MIME type")
            }
            editor.setValue(KeyFileText.strings([id.rawValue]), of: type, in: AssociationLists.defaultGroup)
            let added = try list(type, AssociationLists.addedGroup, editor)
            if !added.contains(id.rawValue) {
                let list = KeyFileText.strings(added + [id.rawValue])
                editor.setValue(list, of: type, in: AssociationLists.addedGroup)
            }
            try remove([id.rawValue], from: AssociationLists.removedGroup, of: type, &editor)
        }
        try replaceFile(path, with: editor.bytes, followingLinks: true)
    }

    /// Makes an application the default for a type, with another one as the next, and changes nothing else.
    ///
    /// Unlike with ``setDefault(_:for:)``, the application does not become associated with the type, so application choosers
    /// only offer the next one.
    package func setDefault(
        _ id: DesktopFileID,
        before next: DesktopFileID?,
        for mimeType: String
    ) throws(FileWriteError) {
        var editor = KeyFileEditor(try contents(ofChangedFile: path, limit: MimeAssociations.limit) ?? [])
        guard let type = validMimeType(mimeType) else {
            throw FileWriteError(path, "cannot contain '\(printable(mimeType))', which is not a MIME type")
        }
        let list = KeyFileText.strings([id.rawValue] + (next.map { [$0.rawValue] } ?? []))
        editor.setValue(list, of: type, in: AssociationLists.defaultGroup)
        try replaceFile(path, with: editor.bytes, followingLinks: true)
    }

    /// Removes the user's default for a type, so that the previous default applies again.
    ///
    /// The association that ``setDefault(_:for:)`` added is also removed. All other associations are kept.
    public func removeDefault(for mimeType: String) throws(FileWriteError) {
        guard let bytes = try contents(ofChangedFile: path, limit: MimeAssociations.limit) else { return }
        let type = asciiLowercased(mimeType)
        var editor = KeyFileEditor(bytes)
        let chosen = try list(type, AssociationLists.defaultGroup, editor)
        editor.setValue(nil, of: type, in: AssociationLists.defaultGroup)
        try remove(chosen, from: AssociationLists.addedGroup, of: type, &editor)
        try replaceFile(path, with: editor.bytes, followingLinks: true)
    }

    /// Makes applications the defaults for types, the best first, and changes nothing else. The first of each list also
    /// becomes associated with the type.
    ///
    /// - Returns: the file's contents before and after; nil if there was no file.
    package func setDefaults(
        _ lists: [String: [DesktopFileID]]
    ) throws(FileWriteError) -> (before: [UInt8]?, after: [UInt8]) {
        let before = try contents(ofChangedFile: path, limit: MimeAssociations.limit)
        var editor = KeyFileEditor(before ?? [])
        for (type, ids) in lists.sorted(by: { $0.key < $1.key }) {
            guard let first = ids.first else { continue }
            // Applications that were chosen before follow, in case the first one is not installed.
            let others = try list(type, AssociationLists.defaultGroup, editor).filter { name in
                !ids.contains { $0.rawValue == name }
            }
            let all = ids.map(\.rawValue) + others
            editor.setValue(KeyFileText.strings(all), of: type, in: AssociationLists.defaultGroup)
            let added = try list(type, AssociationLists.addedGroup, editor)
            if !added.contains(first.rawValue) {
                editor.setValue(
                    KeyFileText.strings(added + [first.rawValue]),
                    of: type,
                    in: AssociationLists.addedGroup
                )
            }
            try remove([first.rawValue], from: AssociationLists.removedGroup, of: type, &editor)
        }
        try replaceFile(path, with: editor.bytes, followingLinks: true)
        return (before, editor.bytes)
    }

    /// Undoes ``setDefaults(_:)``.
    ///
    /// - Parameters:
    ///   - before: the contents to restore; nil for no file.
    ///   - after: the contents that ``setDefaults(_:)`` wrote. If the file has others by now, only the application is
    ///     taken out, and the defaults of the types are as they were, unless other applications were chosen since.
    /// - Returns: whether the file is as it was.
    package func restoreDefaults(
        _ before: [UInt8]?,
        insteadOf after: [UInt8]?,
        without id: DesktopFileID,
        for types: [String]
    ) throws(FileWriteError) -> Bool {
        let now = try contents(ofChangedFile: path, limit: MimeAssociations.limit)
        if now == after {
            if let before { try replaceFile(path, with: before, followingLinks: true) } else { try removeFile(path) }
            return true
        }
        guard let now else { return false }
        var editor = KeyFileEditor(now)
        let old = KeyFileEditor(before ?? [])
        for type in types {
            if try list(type, AssociationLists.defaultGroup, editor).first == id.rawValue {
                let lists = try list(type, AssociationLists.defaultGroup, old)
                editor.setValue(
                    lists.isEmpty ? nil : KeyFileText.strings(lists),
                    of: type,
                    in: AssociationLists.defaultGroup
                )
            }
            try remove([id.rawValue], from: AssociationLists.defaultGroup, of: type, &editor)
            try remove([id.rawValue], from: AssociationLists.addedGroup, of: type, &editor)
        }
        try replaceFile(path, with: editor.bytes, followingLinks: true)
        return false
    }

    /// Removes an application from the user's defaults and added associations for types, and changes nothing else.
    ///
    /// - Returns: whether the file listed it.
    public func remove(_ id: DesktopFileID, for mimeTypes: [String]) throws(FileWriteError) -> Bool {
        guard let bytes = try contents(ofChangedFile: path, limit: MimeAssociations.limit) else { return false }
        var editor = KeyFileEditor(bytes)
        for type in mimeTypes.map(asciiLowercased) {
            for group in [AssociationLists.defaultGroup, AssociationLists.addedGroup] {
                try remove([id.rawValue], from: group, of: type, &editor)
            }
        }
        guard editor.bytes != bytes else { return false }
        try replaceFile(path, with: editor.bytes, followingLinks: true)
        return true
    }

    /// Removes applications from one of a type's lists, and removes the list if none are left.
    private func remove(
        _ ids: [String],
        from group: String,
        of type: String,
        _ editor: inout KeyFileEditor
    ) throws(FileWriteError) {
        let before = try list(type, group, editor)
        let rest = before.filter { !ids.contains($0) }
        guard rest.count < before.count else { return }
        editor.setValue(rest.isEmpty ? nil : KeyFileText.strings(rest), of: type, in: group)
    }

    private func list(
        _ type: String,
        _ group: String,
        _ editor: KeyFileEditor
    ) throws(FileWriteError) -> [String] {
        do {
            return try editor.value(of: type, in: group)?.strings() ?? []
        } catch {
            throw FileWriteError(path, "[\(group)] \(type): \(error.reason)")
        }
    }
}
