@testable import Desktop

private let file = MemoryFile()

/// Reads an entry with intents, an `intentapps.list` and an `intent.cache`, and changes the list.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    file.set(bytes)
    checkEntry()
    checkCache(IntentCache(bytes))
    checkChoices(bytes)
    return 0
}

/// Checks that what an entry declares can be written to a cache and read again.
private func checkEntry() {
    guard let id = DesktopFileID(rawValue: "org.example.App.desktop") else { preconditionFailure() }
    let entry = DesktopFile(reading: .init(id: id, file: file.path, precedence: 0), languages: [])
    guard case .application(let application) = entry.content else { return }
    precondition(Set(application.intents.map(\.intent)).count == application.intents.count)
    for declared in application.intents { precondition(Set(declared.scopes).count == declared.scopes.count) }
    let cache = IntentCache(of: [entry])
    precondition(cache.applications.count == application.intents.count)
    precondition(IntentCache(cache.bytes) == cache)
}

/// Checks that a cache is the same after it has been written and read again.
private func checkCache(_ cache: IntentCache) {
    precondition(IntentCache(cache.bytes) == cache)
}

/// Checks that a choice has the value that it was given, in any list, and is gone once it is removed.
private func checkChoices(_ bytes: [UInt8]) {
    // As in GLib, a CR at the end of the file belongs to the value. Once a line follows, it is part of the line's end.
    guard bytes.last != UInt8(ascii: "\r") else { return }
    let list = IntentList(bytes, "/intentapps.list")
    for (_, choices) in list.choices { precondition(choices.allSatisfy { $0.line > 0 }) }
    guard let id = DesktopFileID(rawValue: "a.desktop") else { preconditionFailure() }
    for (group, key) in [
        (AssociationLists.defaultGroup, Intent.terminal.rawValue), (Intent.terminal.rawValue, "image/png"),
    ] {
        var editor = KeyFileEditor(bytes, ignoringCase: false)
        editor.setValue("a.desktop;", of: key, in: group)
        let changed = IntentList(editor.bytes, "/intentapps.list").choices
        let target = IntentChoices.Target(
            intent: .terminal,
            scope: group == Intent.terminal.rawValue ? IntentScope(rawValue: key) : nil
        )
        precondition(changed[target]?.map(\.id) == [id])
        editor.setValue(nil, of: key, in: group)
        let removed = IntentList(editor.bytes, "/intentapps.list").choices
        precondition(removed[target] == nil)
        precondition(
            removed.mapValues { $0.map(\.id) } == list.choices.filter { $0.key != target }.mapValues { $0.map(\.id) }
        )
    }
}
