extension HandlerEntry {
    /// The bytes that an entry takes in a message, at most.
    private var size: Int {
        var count = Self.bytesWithoutTexts + launchImage.utf8.count
        for text in [id, name, manifest, bundle, desktopEntry, executable] { count += text?.utf8.count ?? 0 }
        for texts in [schemes, types, warnings] {
            for text in texts { count += text.utf8.count + Self.bytesAroundText }
        }
        for (key, value) in urlNames { count += key.utf8.count + value.utf8.count + 2 * Self.bytesAroundText }
        return count
    }

    /// The keys, their types and the words.
    private static let bytesWithoutTexts = 768
    /// The length of a text, its end and its alignment.
    private static let bytesAroundText = 12

    /// The entry, if it takes at most a number of bytes; otherwise what is known without its manifest, and a warning.
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

    /// The entries of a list for one message: each gets an equal share of the bytes, and a larger entry is cut.
    package static func fitting(_ entries: [HandlerEntry], into bytes: Int = messageBytes) -> [HandlerEntry] {
        guard entries.lazy.map(\.size).reduce(0, +) > bytes else { return entries }
        return entries.map { $0.fitting(bytes / entries.count) }
    }

    /// The bytes of a list in a message, of which a connection sends 16 MiB.
    private static let messageBytes = 15 << 20
}
