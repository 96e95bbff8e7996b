package import DBus

/// A type that is an `a{sv}` on the bus, described by the list of its fields.
///
/// The reader ignores keys that are not in the list, unless the list says otherwise (``FieldList/ignoresUnknown``). If
/// a known key has a value of another type, that is an error. The writer leaves out keys that have no value.
package protocol Record: FieldValue {
    /// The type's fields.
    static var fields: FieldList<Self> { get }

    /// Checks a value once all of its fields have been read.
    func validate() throws(MessageDecodingError)
}

extension Record {
    /// The fields with their values, for output.
    package var members: [(key: String, content: FieldContent?)] { Self.fields.members(of: self) }

    package var content: FieldContent { .record(members) }

    package func validate() throws(MessageDecodingError) {}

    package init?(value: Value) throws(MessageDecodingError) {
        guard case .dictionary(let entries, "s", "v") = value else { return nil }
        try self.init { key in entries[.string(key)]?.unwrapped }
    }

    init(_ entries: [String: Value]) throws(MessageDecodingError) {
        try self.init { key in entries[key] }
    }

    private init(_ value: (_ key: String) -> Value?) throws(MessageDecodingError) {
        self = try Self.fields.read(value)
        try validate()
    }

    /// `a{sv}`
    public static var signature: Signature { .options }

    /// Reads the entries.
    ///
    /// - Throws: `MessageDecodingError` if a known key has a value of another type, if a required key is missing, or if
    ///   a key is unknown and the type does not ignore it.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        let record = try Self.fields.read(&reader)
        try record.validate()
        self = record
    }

    /// Appends an entry for each field that has a value.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendOptions { (writer) throws(MessageEncodingError) in
            var root = self
            try Self.fields.write(&root, &writer)
        }
    }
}

extension Signature {
    fileprivate static let options: Signature = "a{sv}"
}
