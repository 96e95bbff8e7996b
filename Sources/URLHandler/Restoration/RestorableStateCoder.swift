internal import ByteCoding

/// A store for the values that a delegate saves and gets back at the next launch ("Preserving Your App's High-Level
/// State").
///
/// Use it for the state of the user interface: a selection, a filter, a draft. Because the state may be deleted
/// whenever it causes a problem, do not store the user's data in it.
public final class RestorableStateCoder {
    /// The ``ApplicationDelegate/restorationVersion`` of the handler that saved the state.
    public let version: Int
    private(set) var values: [String: ArchivedValue]

    init(version: Int, values: [String: ArchivedValue] = [:]) {
        self.version = version
        self.values = values
    }

    /// Stores a value under a key, replacing any earlier value for that key.
    ///
    /// - Throws: `EncodingError`, also for an integer that needs more than 64 bits.
    public func encode(_ value: some Encodable, forKey key: String) throws {
        values[key] = try ArchivedValue(encoding: value)
    }

    /// Returns the value for a key; nil if there is none.
    ///
    /// - Throws: `DecodingError` if the value has another type.
    public func decode<Content: Decodable>(_ type: Content.Type, forKey key: String) throws -> Content? {
        try values[key]?.decoded(as: type)
    }
}

/// A handler's state, as stored between two of the handler's processes.
package struct SavedState: Hashable {
    var version: Int
    var values: [String: ArchivedValue]

    init(version: Int, values: [String: ArchivedValue]) {
        self.version = version
        self.values = values
    }

    /// The first bytes of a file: a name and the version of the format.
    private static let mark = Array("openurl-state 1\n".utf8)

    /// The contents of a file: the mark, a checksum of the rest, the handler's restoration version, and the values.
    package var bytes: [UInt8] {
        var content = ByteWriter()
        content.write(.integer(Int64(version)))
        content.write(.record(values))
        var checksum = ByteWriter()
        unsafe checksum.write(content.bytes.withUnsafeBytes(Self.checksum))
        return Self.mark + checksum.bytes + content.bytes
    }

    /// Reads the contents of a file.
    package init(bytes: [UInt8]) throws(DamagedArchive) {
        guard bytes.starts(with: Self.mark),
            let state = unsafe bytes.withUnsafeBytes({
                unsafe SavedState(content: UnsafeRawBufferPointer(rebasing: $0[Self.mark.count...]))
            })
        else { throw DamagedArchive() }
        self = state
    }

    /// Reads the contents of a file after the mark; nil if they are damaged.
    private init?(content: UnsafeRawBufferPointer) {
        var reader = unsafe ByteReader(content)
        do throws(ByteReader.Mismatch) {
            guard try unsafe reader.unsigned() == Self.checksum(reader.remaining),
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
        unsafe checksum.add(bytes)
        return checksum.value
    }
}
