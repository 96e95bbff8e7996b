package import DBus

/// One key of an `a{sv}`, and the property of `Root` that holds the key's value.
///
/// The list of a type's fields (``Record/fields``) is the only place that spells the type's keys. The reader, the
/// writer, the command's JSON and `Documentation/Reference.md` all use the list.
package struct Field<Root: Sendable>: Sendable {
    /// The key.
    package let key: String
    /// The D-Bus type of the value; `v` for a value of any type.
    package let type: Signature
    /// The words that the value can be; empty for a value that is not a word from a list.
    package let words: [String]
    /// Whether the reader refuses an `a{sv}` without the key.
    package let isRequired: Bool
    /// The meaning of the value, in a sentence or two.
    package let meaning: String

    /// Appends the entry, unless the property says that the key is left out.
    let write: @Sendable (Root, inout MessageWriter) throws(MessageEncodingError) -> Void
    /// Sets the property to a value that arrived.
    let set: @Sendable (inout Root, Value) throws(MessageDecodingError) -> Void
    /// Reads a variant, and sets the property to its value.
    let read: @Sendable (inout Root, inout MessageReader) throws(MessageDecodingError) -> Void
    /// Sets the property where the key did not arrive; nil for a property that keeps its initial value.
    let readAbsence: (@Sendable (inout Root) -> Void)?
    /// Returns the value for output; nil where the property holds none.
    let content: @Sendable (Root) -> FieldContent?

    /// Creates a field.
    ///
    /// The accessors are closures and not key paths because a key path takes 70 ns for each access, which is felt on
    /// each open.
    ///
    /// - Parameters:
    ///   - get: returns the value of the property; nil for a property without a value, whose key is then not written.
    ///   - set: sets the property to a value that arrived. The keys arrive in any order, so the other properties do not matter.
    ///   - omitted: a value that is not written.
    ///   - substitute: returns the value for a key that did not arrive. The fields that come earlier in the list have
    ///     their values by then. Without a substitute the property keeps its initial value.
    package init<Content: FieldValue>(
        _ key: String,
        _ get: @escaping @Sendable (Root) -> Content?,
        _ set: @escaping @Sendable (inout Root, Content) -> Void,
        isRequired: Bool = false,
        omitting omitted: Content? = nil,
        orElse substitute: (@Sendable (Root) -> Content)? = nil,
        _ meaning: String
    ) {
        let type = Content.signature
        self.key = key
        self.type = type
        words = Content.words
        self.isRequired = isRequired
        self.meaning = meaning
        write = { (root, writer) throws(MessageEncodingError) in
            guard let value = get(root), value != omitted else { return }
            try writer.appendEntry { (writer) throws(MessageEncodingError) in
                try writer.append(key)
                try value.appendVariant(of: type, to: &writer)
            }
        }
        let setValue: @Sendable (inout Root, Value) throws(MessageDecodingError) -> Void = {
            (root, value) throws(MessageDecodingError) in
            guard let content = try Content(value: value) else {
                throw .invalidValue("'\(key)' must be of type '\(type)', not '\(value.signature)'")
            }
            set(&root, content)
        }
        self.set = setValue
        read = { (root, reader) throws(MessageDecodingError) in
            if let content = try Content.readVariant(&reader) {
                set(&root, content)
            } else {
                try setValue(&root, try reader.readVariant())
            }
        }
        if let substitute {
            readAbsence = { root in set(&root, substitute(root)) }
        } else {
            readAbsence = nil
        }
        content = { get($0)?.content }
    }
}
