internal import DBus

/// A type's fields, and the value that the reader starts with.
///
/// It is a class so that each reading copies the value only once.
package final class FieldList<Root: Sendable>: Sendable {
    /// Fields in the order in which they are written and shown.
    package let all: [Field<Root>]
    /// Appends the entries of all fields. Each closure calls the next one, which takes less time than calling those in an
    /// array.
    let write: Writing

    /// A function that appends entries. It does not change the root.
    typealias Writing = @Sendable (inout Root, inout MessageWriter) throws(MessageEncodingError) -> Void

    /// The value of an `a{sv}` without entries.
    let initial: Root
    /// The message of the error for a missing required key.
    let incomplete: String
    /// Whether unknown keys are ignored. Otherwise they are an error.
    let ignoresUnknown: Bool

    /// Creates a list.
    package init(
        initial: Root,
        incomplete: String = "",
        ignoresUnknown: Bool = true,
        _ fields: Field<Root>...
    ) {
        precondition(fields.count <= Present.capacity, "the list has more fields than `Present` has bits")
        all = fields
        var chain: Writing = { _, _ in }
        for field in fields.reversed() {
            let (write, rest) = (field.write, chain)
            chain = { (root, writer) throws(MessageEncodingError) in
                try write(&root, &writer)
                try rest(&root, &writer)
            }
        }
        write = chain
        self.initial = initial
        self.incomplete = incomplete
        self.ignoresUnknown = ignoresUnknown
    }

    /// Returns a value's fields for output.
    package func members(of root: Root) -> [(key: String, content: FieldContent?)] {
        all.map { (key: $0.key, content: $0.content(root)) }
    }

    /// Reads a value.
    ///
    /// - Parameter value: Returns the value that arrived for a key.
    func read(_ value: (_ key: String) -> Value?) throws(MessageDecodingError) -> Root {
        var root = initial
        var present = Present()
        // Iterating over the elements would copy each field, with a reference count for each of its properties.
        for index in all.indices {
            guard let value = value(all[index].key) else { continue }
            try all[index].set(&root, value)
            present.insert(index)
        }
        try readAbsences(&root, present)
        return root
    }

    /// Reads the entries of an `a{sv}`. It is an error if a known key arrives twice.
    func read(_ reader: inout MessageReader) throws(MessageDecodingError) -> Root {
        var root = initial
        var present = Present()
        try reader.readArray { (reader) throws(MessageDecodingError) in
            try reader.readEntry { (reader) throws(MessageDecodingError) in
                let key = try reader.readString()
                // Strings with many combining marks are slow to compare, and a program may send many such keys.
                let size = key.utf8.count
                guard let index = all.indices.first(where: { all[$0].key.utf8.count == size && all[$0].key == key })
                else {
                    guard ignoresUnknown else { throw .invalidValue(unknown(key)) }
                    _ = try reader.readVariant()
                    return
                }
                guard !present.contains(index) else { throw MessageReader.repeatedKey }
                try all[index].read(&root, &reader)
                present.insert(index)
            }
        }
        try readAbsences(&root, present)
        return root
    }

    private func unknown(_ key: String) -> String {
        "the key '\(key.cut(toBytes: 64))' is unknown; the keys are \(all.map(\.key).joined(separator: ", "))"
    }

    private func readAbsences(_ root: inout Root, _ present: Present) throws(MessageDecodingError) {
        for index in all.indices where !present.contains(index) {
            if all[index].isRequired { throw .invalidValue(incomplete) }
            if let readAbsence = all[index].readAbsence { readAbsence(&root) }
        }
    }
}

/// Positions of the fields that have arrived.
private struct Present {
    static let capacity = UInt64.bitWidth

    private var bits: UInt64 = 0

    mutating func insert(_ index: Int) { bits |= 1 << UInt64(index) }

    func contains(_ index: Int) -> Bool { bits & 1 << UInt64(index) != 0 }
}
