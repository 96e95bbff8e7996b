import Testing

@testable import DBus

/// Entries of an `a{sv}` whose key and type are known have the same bytes as any others, and the same errors.
struct EntryKeyTests {
    /// A dictionary whose entries are written by a function.
    private func options(
        _ body: @escaping @Sendable (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) -> Liar<[String: Value]> {
        Liar { (writer) throws(MessageEncodingError) in
            try writer.appendDictionary(key: "s", value: "v", body)
        }
    }

    @Test(arguments: 0...9)
    func entryHasTheUsualBytes(keyLength: Int) throws {
        let key = String(repeating: "k", count: keyLength)
        let values: [Value] = [
            .string("text"), .string(""), .uint32(7), .uint64(.max), .array([.string("a")], of: "s"),
        ]
        let usual = options { (writer) throws(MessageEncodingError) in
            for value in values {
                try writer.appendEntry { (writer) throws(MessageEncodingError) in
                    try writer.append(key)
                    try writer.appendVariant(value)
                }
            }
        }
        let known = options { (writer) throws(MessageEncodingError) in
            try writer.appendEntry(EntryKey(key, "s"), "text")
            try writer.appendEntry(EntryKey(key, "s"), "")
            try writer.appendEntry(EntryKey(key, "u"), UInt32(7))
            try writer.appendEntry(EntryKey(key, "t"), UInt64.max)
            try writer.appendEntry(EntryKey(key, "as")) { (writer) throws(MessageEncodingError) in
                try writer.appendArray(of: "s") { (writer) throws(MessageEncodingError) in try writer.append("a") }
            }
        }
        #expect(try MessageArchive.bytes(of: known, limit: 4096) == MessageArchive.bytes(of: usual, limit: 4096))
    }

    @Test func valueOfAnotherTypeIsRefused() {
        let key = EntryKey("key", "u")
        #expect(
            refusal(of: options { (writer) throws(MessageEncodingError) in try writer.appendEntry(key, "text") })
                == .inconsistentValue
        )
        #expect(
            refusal(of: options { (writer) throws(MessageEncodingError) in try writer.appendEntry(key, UInt64(1)) })
                == .inconsistentValue
        )
        #expect(
            refusal(
                of: options { (writer) throws(MessageEncodingError) in
                    try writer.appendEntry(key) { (writer) throws(MessageEncodingError) in try writer.append("text") }
                }
            ) == .inconsistentValue
        )
        #expect(
            refusal(of: options { (writer) throws(MessageEncodingError) in try writer.appendEntry(key) { _ in } })
                == .inconsistentValue
        )
    }

    @Test func entryOutsideOfOptionsIsRefused() {
        let key = EntryKey("key", "s")
        let text = Liar<String> { (writer) throws(MessageEncodingError) in try writer.appendEntry(key, "text") }
        #expect(refusal(of: text) == .inconsistentValue)
        let strings = Liar<[String: String]> { (writer) throws(MessageEncodingError) in
            try writer.appendDictionary(key: "s", value: "s") { (writer) throws(MessageEncodingError) in
                try writer.appendEntry(key, "text")
            }
        }
        #expect(refusal(of: strings) == .inconsistentValue)
    }

    @Test func stringWithANULIsRefused() {
        let key = EntryKey("key", "s")
        #expect(
            refusal(of: options { (writer) throws(MessageEncodingError) in try writer.appendEntry(key, "a\0b") })
                == .nulInString
        )
    }

    @Test func entryCountsTowardsTheLimit() {
        let text = String(repeating: "x", count: 4096)
        let large = options { (writer) throws(MessageEncodingError) in
            try writer.appendEntry(EntryKey("key", "s"), text)
        }
        #expect(throws: MessageEncodingError.tooLarge(limit: 4096)) { try MessageArchive.bytes(of: large, limit: 4096) }
    }

    /// An entry and its variant are two containers, as in ``MessageWriter/maximumDepth``.
    @Test(arguments: [59, 60, 61, 62])
    func depthIsThatOfOtherEntries(depth: Int) {
        func nested(_ entry: @escaping @Sendable (inout MessageWriter) throws(MessageEncodingError) -> Void)
            -> MessageEncodingError?
        {
            refusal(
                of: Liar<Value> { (writer) throws(MessageEncodingError) in
                    try Self.nest(depth, &writer) { (writer) throws(MessageEncodingError) in
                        try writer.appendVariant(of: "a{sv}") { (writer) throws(MessageEncodingError) in
                            try writer.appendDictionary(key: "s", value: "v", entry)
                        }
                    }
                }
            )
        }
        let usual = nested { (writer) throws(MessageEncodingError) in
            try writer.appendEntry { (writer) throws(MessageEncodingError) in
                try writer.append("key")
                try writer.appendVariant(of: "s") { (writer) throws(MessageEncodingError) in try writer.append("text") }
            }
        }
        let known = nested { (writer) throws(MessageEncodingError) in
            try writer.appendEntry(EntryKey("key", "s"), "text")
        }
        #expect(known == usual)
    }

    /// Writes variants within variants.
    private static func nest(
        _ depth: Int,
        _ writer: inout MessageWriter,
        _ body: (inout MessageWriter) throws(MessageEncodingError) -> Void
    ) throws(MessageEncodingError) {
        guard depth > 0 else { return try body(&writer) }
        try writer.appendVariant(of: "v") { (writer) throws(MessageEncodingError) in
            try nest(depth - 1, &writer, body)
        }
    }
}
