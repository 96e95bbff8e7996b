internal import ByteCoding

/// Keeps the values that a delegate restores at its next launch ("Preserving Your App's High-Level State").
///
/// The values describe the screen that the user sees: a selection, a filter, a draft. The user's data does not belong here,
/// because a state that gives trouble is deleted.
public final class RestorableStateCoder {
    /// The ``ApplicationDelegate/restorationVersion`` of the handler that saved the state.
    public let version: Int
    private(set) var values: [String: ArchivedValue]

    init(version: Int, values: [String: ArchivedValue] = [:]) {
        self.version = version
        self.values = values
    }

    /// Keeps a value under a key, and replaces the earlier value of the key.
    ///
    /// - Throws: `EncodingError`, also for integers of more than 64 bits.
    public func encode(_ value: some Encodable, forKey key: String) throws {
        values[key] = try ArchivedValue(encoding: value)
    }

    /// Returns the value of a key.
    ///
    /// - Returns: nil if the key has no value.
    /// - Throws: `DecodingError` for a value of another type.
    public func decode<Content: Decodable>(_ type: Content.Type, forKey key: String) throws -> Content? {
        try values[key]?.decoded(as: type)
    }
}

/// A handler's state as a file keeps it between two of the handler's processes.
package struct SavedState: Hashable {
    var version: Int
    var values: [String: ArchivedValue]

    init(version: Int, values: [String: ArchivedValue]) {
        self.version = version
        self.values = values
    }

    /// The beginning of a file: a name, and the version of the format.
    private static let mark = Array("openurl-state 1\n".utf8)

    /// The contents of a file: the mark, a checksum of the rest, the handler's own version, and the values.
    package var bytes: [UInt8] {
        var content = ByteWriter()
        content.write(.integer(Int64(version)))
        content.write(.record(values))
        var checksum = ByteWriter()
        checksum.write(content.bytes.withUnsafeBytes(Self.checksum))
        return Self.mark + checksum.bytes + content.bytes
    }

    /// Reads the contents of a file.
    package init(bytes: [UInt8]) throws(DamagedArchive) {
        guard bytes.starts(with: Self.mark),
            let state = bytes.withUnsafeBytes({
                SavedState(content: UnsafeRawBufferPointer(rebasing: $0[Self.mark.count...]))
            })
        else { throw DamagedArchive() }
        self = state
    }

    /// Reads the contents of a file after the mark; nil for contents that are damaged.
    private init?(content: UnsafeRawBufferPointer) {
        var reader = ByteReader(content)
        do throws(ByteReader.Mismatch) {
            guard try reader.unsigned() == Self.checksum(reader.remaining),
                case .integer(let number) = try reader.archivedValue(), let version = Int(exactly: number),
                case .record(let values) = try reader.archivedValue()
            else { return nil }
            try reader.end()
            self.init(version: version, values: values)
        } catch {
            return nil
        }
    }

    private static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var checksum = Checksum()
        checksum.add(bytes)
        return checksum.value
    }
}
