/// A store of values that a delegate saves and gets back at its next launch ("Preserving Your App's High-Level State").
///
/// Use the coder for the state of the user interface: a selection, a filter, a draft. The state may be deleted whenever
/// it causes a problem, so do not store the user's data in it.
public final class RestorableStateCoder {
    /// The ``ApplicationDelegate/restorationVersion`` of the handler that saved the state.
    public let version: Int
    private(set) var values: [String: ArchivedValue]

    init(version: Int, values: [String: ArchivedValue] = [:]) {
        self.version = version
        self.values = values
    }

    /// Stores a value under a key, and replaces an earlier value of that key.
    ///
    /// - Throws: `EncodingError`, also for an integer that needs more than 64 bits.
    public func encode(_ value: some Encodable, forKey key: String) throws {
        values[key] = try ArchivedValue(encoding: value)
    }

    /// Returns the value of a key.
    ///
    /// - Returns: nil if no value is stored under the key.
    /// - Throws: `DecodingError` if the value has another type.
    public func decode<Content: Decodable>(_ type: Content.Type, forKey key: String) throws -> Content? {
        try values[key]?.decoded(as: type)
    }
}

/// A handler's state as it is stored between two processes of the handler.
package struct SavedState: Hashable {
    var version: Int
    var values: [String: ArchivedValue]

    init(version: Int, values: [String: ArchivedValue]) {
        self.version = version
        self.values = values
    }

    /// The first bytes of a file: a name and the version of the format.
    private static let mark = Array("openurl-state 1\n".utf8)

    /// The contents of a file: the mark, a checksum of the rest, the handler's restoration version, the values.
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

    /// Returns the FNV-1a checksum, which detects damage but not manipulation. Only the user can write the file, so
    /// manipulation needs no protection.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
