public import UserFiles

/// The user's own `intentapps.list`, opened for changes.
///
/// Every change reads the file, edits only the lines concerned, and replaces the file in one step. All other lines stay
/// as they are. As with `mimeapps.list`, the desktop specifies no lock.
public struct IntentChoicesFile: Sendable, Hashable {
    /// The file's path.
    public let path: String

    /// Creates a value for the file in the user's configuration directory; `nil` if there is no such directory.
    public init?(in directories: DesktopDirectories) {
        guard let path = directories.writtenIntentFile else { return nil }
        self.path = path
    }

    /// Makes an application the user's only choice for an intent, or for one of its scopes.
    ///
    /// The application must implement the intent, or the choice has no effect.
    public func setDefault(
        _ id: DesktopFileID,
        for intent: Intent,
        scope: IntentScope? = nil
    ) throws(FileWriteError) {
        try change(KeyFileText.strings([id.rawValue]), intent, scope)
    }

    /// Removes the user's choice for an intent, or for one of its scopes, so that the system's applies again.
    public func removeDefault(for intent: Intent, scope: IntentScope? = nil) throws(FileWriteError) {
        try change(nil, intent, scope)
    }

    private func change(_ value: String?, _ intent: Intent, _ scope: IntentScope?) throws(FileWriteError) {
        let before = try contents(ofChangedFile: path, limit: MimeAssociations.limit)
        guard before != nil || value != nil else { return }
        var editor = KeyFileEditor(before ?? [], ignoringCase: false)
        let group = scope == nil ? AssociationLists.defaultGroup : intent.rawValue
        editor.setValue(value, of: scope?.rawValue ?? intent.rawValue, in: group)
        try replaceFile(path, with: editor.bytes, followingLinks: true)
    }
}
