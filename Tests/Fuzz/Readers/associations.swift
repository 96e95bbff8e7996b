@testable import Desktop
@testable import UserFiles

private let file = MemoryFile()
private let copy = MemoryFile()
private let type = "x-scheme-handler/todolist"

/// Reads a `mimeapps.list` and changes it, and does the same with a `mimeinfo.cache`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    file.set(bytes)
    for onlyDefaults in [false, true] {
        let place = AssociationFile(path: file.path, precedence: 0, onlyDefaults: onlyDefaults)
        let lists = try? AssociationLists(reading: place)
        precondition(lists?.added.isEmpty != false || !onlyDefaults)
    }
    checkEditing(bytes)
    checkCache(bytes)
    return 0
}

/// Checks that a key has the value that it was given, that other keys keep theirs, and that the key is gone once it is removed.
private func checkEditing(_ bytes: [UInt8]) {
    // As in GLib, a CR at the end of the file belongs to the value. Once a line follows, it is part of the line's end.
    guard bytes.last != UInt8(ascii: "\r") else { return }
    let group = AssociationLists.defaultGroup
    var editor = KeyFileEditor(bytes)
    let others = entries(bytes)
    editor.setValue("a.desktop;", of: type, in: group)
    precondition(editor.value(of: type, in: group)?.bytes.elementsEqual("a.desktop;".utf8) == true)
    precondition(entries(editor.bytes) == others)
    editor.setValue(nil, of: type, in: group)
    precondition(editor.value(of: type, in: group) == nil)
    precondition(entries(editor.bytes) == others)
}

/// Returns the lines of all lists but those of the edited key.
private func entries(_ bytes: [UInt8]) -> [[UInt8]] {
    let groups = [AssociationLists.defaultGroup, AssociationLists.addedGroup, AssociationLists.removedGroup]
    let file = KeyFile(bytes, groups: Set(groups))
    return groups.flatMap { group in
        file.entries(of: group).filter { asciiLowercased(String(decoding: $0.key, as: UTF8.self)) != type }
            .map { Array($0.key) + [UInt8(ascii: "=")] + $0.value.bytes }
    }
}

/// Checks that a cache in order is still in order after a change, and that undoing the change restores it.
private func checkCache(_ bytes: [UInt8]) {
    _ = MimeCacheFile.agree(MimeCacheFile.heading + bytes, with: [], isThere: { _ in true })
    guard let id = DesktopFileID(rawValue: "org.example.App.desktop") else { preconditionFailure() }
    guard let added = changed(file, into: copy, noting: id, claims: [type, "text/plain"], insteadOf: []) else { return }
    guard MimeCacheFile.areOrdered(bytes) else { return }
    precondition(MimeCacheFile.areOrdered(added))
    guard let removed = changed(copy, into: file, noting: id, claims: [], insteadOf: [type, "text/plain"]) else {
        preconditionFailure()
    }
    precondition(MimeCacheFile.areOrdered(removed))
    // A line that is changed gets the separator after its last element.
    precondition(removed.count <= bytes.count + 2)
}

private func changed(
    _ file: MemoryFile,
    into copy: MemoryFile,
    noting id: DesktopFileID,
    claims: Set<String>,
    insteadOf before: Set<String>
) -> [UInt8]? {
    do {
        let cache = try MimeCacheFile(file.path, limit: 1 << 20)
        let edits = try cache.edits(noting: id, claims: claims, insteadOf: before)
        copy.set([])
        try cache.copy(to: copy.descriptor, with: edits)
        let bytes = copy.bytes
        precondition(bytes.count == cache.size(with: edits))
        return bytes
    } catch {
        return nil
    }
}
