/// Takes what a delegate wants to find again at its next launch, and hands it back then ("Preserving Your App's High-Level
/// State").
///
/// It is for what the user sees: a selection, a filter, a draft. The state may be deleted whenever it gives trouble, so the
/// user's data does not belong here.
public final class RestorableStateCoder {
    /// The ``ApplicationDelegate/restorationVersion`` of the handler that saved the state.
    public let version: Int
    private(set) var values: [String: ArchivedValue]

    init(version: Int, values: [String: ArchivedValue] = [:]) {
        self.version = version
        self.values = values
    }

    /// Keeps a value under a key; an earlier value of that key is replaced.
    ///
    /// - Throws: `EncodingError`, also for integers of more than 64 bits.
    public func encode(_ value: some Encodable, forKey key: String) throws {
        values[key] = try ArchivedValue(encoding: value)
    }

    /// The value of a key.
    ///
    /// - Returns: nil where nothing was kept under that key.
    /// - Throws: `DecodingError` where it is a value of another type.
    public func decode<Content: Decodable>(_ type: Content.Type, forKey key: String) throws -> Content? {
        try values[key]?.decoded(as: type)
    }
}

/// A handler's state as it is kept between two of its processes.
package struct SavedState: Hashable {
    var version: Int
    var values: [String: ArchivedValue]

    init(version: Int, values: [String: ArchivedValue]) {
        self.version = version
        self.values = values
    }

    /// What a file begins with: a name, and the version of the format.
    private static let mark = Array("openurl-state 1\n".utf8)

    /// The contents of a file: the mark, a checksum of the rest, the handler's own version, the values.
    package var bytes: [UInt8] {
        var content = ArchiveWriter()
        content.append(.integer(Int64(version)))
        content.append(.record(values))
        var checksum = ArchiveWriter()
        checksum.append(Self.checksum(content.bytes[...]))
        return Self.mark + checksum.bytes + content.bytes
    }

    /// Reads the contents of a file.
    package init(bytes: [UInt8]) throws(DamagedArchive) {
        guard bytes.starts(with: Self.mark) else { throw DamagedArchive() }
        var reader = ArchiveReader(bytes[Self.mark.count...])
        let checksum = try reader.number()
        guard checksum == Self.checksum(reader.rest) else { throw DamagedArchive() }
        guard case .integer(let number) = try reader.value(), let version = Int(exactly: number),
            case .record(let values) = try reader.value(), reader.rest.isEmpty
        else { throw DamagedArchive() }
        self.init(version: version, values: values)
    }

    /// FNV-1a: it tells damage, not malice, as only the user can write the file.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
