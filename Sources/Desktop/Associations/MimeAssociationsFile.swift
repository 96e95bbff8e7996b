public import UserFiles

/// The user's own `mimeapps.list`, to be changed: what `gio mime`, `xdg-mime` and settings programs write to.
///
/// Every change reads the file, changes the lines concerned and replaces it in one step. What the file says beyond that
/// stays as it is, down to comments and lines that mean nothing. The desktop knows no lock for the file: of two programs
/// that change it at the same moment one can undo what the other did.
public struct MimeAssociationsFile: Sendable, Hashable {
    /// Where the file is.
    public let path: String

    /// The file that the directories say is written to; `nil` if there is no directory for configuration.
    public init?(in directories: DesktopDirectories) {
        guard let path = directories.writtenAssociationFile else { return nil }
        self.path = path
    }

    /// Makes an application the default for a type, and nothing else.
    ///
    /// As GLib does it, the application is also added to those associated with the type and taken from those that are
    /// not, since the specification has nobody else be a default.
    public func setDefault(_ id: DesktopFileID, for mimeType: String) throws(FileWriteError) {
        guard let type = validMimeType(mimeType) else {
            throw FileWriteError(path, "cannot hold '\(printable(mimeType))', which is no MIME type")
        }
        var editor = KeyFileEditor(try contents(ofChangedFile: path, limit: MimeAssociations.limit) ?? [])
        editor.setValue(KeyFileText.strings([id.rawValue]), of: type, in: AssociationLists.defaultGroup)

        let added = try list(type, AssociationLists.addedGroup, editor)
        if !added.contains(id.rawValue) {
            let list = KeyFileText.strings(added + [id.rawValue])
            editor.setValue(list, of: type, in: AssociationLists.addedGroup)
        }
        try remove([id.rawValue], from: AssociationLists.removedGroup, of: type, &editor)
        try replaceFile(path, with: editor.bytes)
    }

    /// Takes the user's choice for a type back, so that what counted before it counts again: with the default goes the
    /// association that ``setDefault(_:for:)`` added. All others stay.
    public func removeDefault(for mimeType: String) throws(FileWriteError) {
        guard let bytes = try contents(ofChangedFile: path, limit: MimeAssociations.limit) else { return }
        let type = asciiLowercased(mimeType)
        var editor = KeyFileEditor(bytes)
        let chosen = try list(type, AssociationLists.defaultGroup, editor)
        editor.setValue(nil, of: type, in: AssociationLists.defaultGroup)
        try remove(chosen, from: AssociationLists.addedGroup, of: type, &editor)
        try replaceFile(path, with: editor.bytes)
    }

    /// Takes applications off one of a type's lists, and the list itself away if none are left.
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
