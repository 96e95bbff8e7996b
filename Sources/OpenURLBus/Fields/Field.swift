package import DBus

/// One key of an `a{sv}`, and the property of `Root` that holds its value.
///
/// A type spells out its keys only in one place, its list of fields (``Record/fields``). The reader, the writer, the
/// command's JSON and `Documentation/Reference.md` all use the list.
package struct Field<Root: Sendable>: Sendable {
    /// The key, as it appears on the bus.
    package let key: String
    /// The value's D-Bus type; `v` if it may have any type.
    package let type: Signature
    /// The words that the value can be; empty if it is not a word from a list.
    package let words: [String]
    /// Whether the reader refuses an `a{sv}` that lacks this key.
    package let isRequired: Bool
    /// The value's meaning, in a sentence or two.
    package let meaning: String

    /// Appends the entry, unless the key is left out because of the property's value. This does not change the root. It is
    /// `inout` only because a closure that takes a large structure by value gets a copy.
    let write: @Sendable (inout Root, inout MessageWriter) throws(MessageEncodingError) -> Void
    /// Sets the property to a value that arrived.
    let set: @Sendable (inout Root, Value) throws(MessageDecodingError) -> Void
    /// Reads a variant, and sets the property to its value.
    let read: @Sendable (inout Root, inout MessageReader) throws(MessageDecodingError) -> Void
    /// Sets the property if the key did not arrive. If this is nil, the property keeps its initial value.
    let readAbsence: (@Sendable (inout Root) -> Void)?
    /// Returns the value for output; nil if the property holds none.
    let content: @Sendable (Root) -> FieldContent?

    /// Creates a field.
    ///
    /// The accessors are closures because each access through a key path takes 70 ns, which is noticeable each time a
    /// URL is opened.
    ///
    /// - Parameters:
    ///   - get: Returns the property's value. If it is nil, the key is not written.
    ///   - set: Sets the property to a value that arrived. Keys arrive in any order, so this must not depend on other
    ///     properties.
    ///   - omitted: A value that is not written.
    ///   - substitute: Returns the value to use if the key did not arrive. By then, the fields that come earlier in the
    ///     list have their values. Without a substitute, the property keeps its initial value.
    package init<Content: FieldValue>(
        _ key: String,
        _ get: @escaping @Sendable (inout Root) -> Content?,
        _ set: @escaping @Sendable (inout Root, Content) -> Void,
        isRequired: Bool = false,
        omitting omitted: Content? = nil,
        orElse substitute: (@Sendable (Root) -> Content)? = nil,
        _ meaning: String
    ) {
        let type = Content.signature
        let entryKey = EntryKey(key, type)
        self.key = key
        self.type = type
        words = Content.words
        self.isRequired = isRequired
        self.meaning = meaning
        if let omitted {
            write = { (root, writer) throws(MessageEncodingError) in
                guard let value = get(&root), value != omitted else { return }
                try value.appendEntry(entryKey, to: &writer)
            }
        } else {
            write = { (root, writer) throws(MessageEncodingError) in
                try get(&root)?.appendEntry(entryKey, to: &writer)
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
        content = { root in
            var root = root
            return get(&root)?.content
        }
    }
}
