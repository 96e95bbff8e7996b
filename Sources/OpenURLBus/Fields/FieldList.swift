internal import DBus

/// The fields of a type, with the value that the reader starts with.
package struct FieldList<Root: Sendable>: Sendable {
    /// The fields, in the order in which they are written and shown.
    package let all: [Field<Root>]
    /// The value of an `a{sv}` without entries.
    let initial: Root
    /// The message of the error for an `a{sv}` without a required key.
    let incomplete: String

    /// Creates a list.
    package init(initial: Root, incomplete: String = "", _ fields: Field<Root>...) {
        all = fields
        self.initial = initial
        self.incomplete = incomplete
    }

    /// Returns the fields of a value for output.
    package func members(of root: Root) -> [(key: String, content: FieldContent?)] {
        all.map { (key: $0.key, content: $0.content(root)) }
    }

    /// Reads a value.
    ///
    /// - Parameter value: returns the value that arrived for a key.
    func read(_ value: (_ key: String) -> Value?) throws(MessageDecodingError) -> Root {
        var root = initial
        // A loop over the elements would copy each field, with a reference count for each of its properties.
        for index in all.indices {
            if let value = value(all[index].key) {
                try all[index].read(&root, value)
            } else if all[index].isRequired {
                throw .invalidValue(incomplete)
            } else if let readAbsence = all[index].readAbsence {
                readAbsence(&root)
            }
        }
        return root
    }
}
