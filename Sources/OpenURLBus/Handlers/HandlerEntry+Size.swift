extension HandlerEntry {
    /// The maximum number of bytes that this entry can take up in a message.
    private var size: Int {
        var count = (isCut ? Self.bytesOfCutEntry : Self.bytesWithoutTexts) + launchImage.utf8.count
        for text in [id, name, manifest, bundle, desktopEntry, executable] { count += text?.utf8.count ?? 0 }
        for texts in [schemes, types, domains, warnings] {
            for text in texts { count += text.utf8.count + Self.bytesAroundText }
        }
        for (key, value) in Array(urlNames) + typeNames {
            count += key.utf8.count + value.utf8.count + 2 * Self.bytesAroundText
        }
        return count
    }

    /// Size of the keys, their types and the words.
    private static let bytesWithoutTexts = 768
    /// The same for an entry that was cut, which has fewer keys.
    private static let bytesOfCutEntry = 576
    /// Number of bytes that a string takes besides its text: its length, its end and its alignment.
    private static let bytesAroundText = 12

    /// Returns the entry if it takes up at most this many bytes. Otherwise, returns what is known without its manifest,
    /// with a warning.
    private func fitting(_ limit: Int) -> HandlerEntry {
        let size = size
        guard size > limit else { return self }
        var entry = HandlerEntry(
            id: id,
            name: id,
            executable: "",
            schemes: [],
            kind: kind,
            isFixed: isFixed,
            state: state,
            warnings: ["only its identifier is listed: the list has room for \(limit) of its \(size) bytes"]
        )
        entry.reach = reach
        entry.temporary = temporary
        entry.isCut = true
        return entry
    }

    /// Returns a list's entries in a form that fits into one message. Each gets an equal share of the bytes, and is cut
    /// if it is larger. If there are too many even for that, the last ones are left out.
    package static func fitting(_ entries: [HandlerEntry], into bytes: Int = messageBytes) -> [HandlerEntry] {
        guard entries.lazy.map(\.size).reduce(0, +) > bytes else { return entries }
        var listed: [HandlerEntry] = []
        var room = bytes
        for entry in entries {
            let fitted = entry.fitting(bytes / entries.count)
            room -= fitted.size
            guard room >= 0 else { break }
            listed.append(fitted)
        }
        return listed
    }

    /// Maximum size of a list in a message. A connection sends at most 16 MiB.
    private static let messageBytes = 15 << 20
}
