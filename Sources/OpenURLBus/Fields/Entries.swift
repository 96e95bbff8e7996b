internal import DBus

/// The entries of an `a{sv}` as they arrived.
///
/// A message has few entries, so a search through an array is cheaper than a dictionary.
struct Entries {
    private var entries: [(key: String, value: Value)] = []

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        try reader.readArray { (reader) throws(MessageDecodingError) in
            try reader.readEntry { (reader) throws(MessageDecodingError) in
                let key = try reader.readString()
                entries.append((key, try reader.readVariant()))
            }
        }
    }

    /// The value of a key. The last entry counts where a key arrived twice.
    subscript(key: String) -> Value? { entries.last { $0.key == key }?.value }
}
