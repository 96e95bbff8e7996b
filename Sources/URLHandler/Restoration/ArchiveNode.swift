/// A place in the tree that an ``ArchiveEncoder`` builds. It is needed because `Encodable` hands out containers before
/// they are filled.
final class ArchiveNode {
    private enum Kind {
        case leaf(ArchivedValue)
        case array
        case record
    }

    /// A value that encodes nothing is an empty record.
    private var kind = Kind.record
    /// An array's elements. They are not part of `kind`, because an enum would copy them each time an element is
    /// appended.
    private(set) var elements: [ArchiveNode] = []
    private var fields: [String: ArchiveNode] = [:]

    /// The tree below this place.
    var value: ArchivedValue {
        switch kind {
        case .leaf(let value): value
        case .array: .array(elements.map(\.value))
        case .record: .record(fields.mapValues(\.value))
        }
    }

    /// Puts a value here.
    func set(_ value: ArchivedValue) {
        kind = .leaf(value)
    }

    /// Puts an empty array here, unless there is one already.
    func makeArray() {
        if case .array = kind { return }
        kind = .array
        elements = []
    }

    /// Puts an empty record here, unless there is one already.
    func makeRecord() {
        if case .record = kind { return }
        kind = .record
        fields = [:]
    }

    /// Appends an element to the array.
    func append() -> ArchiveNode {
        let node = ArchiveNode()
        elements.append(node)
        return node
    }

    /// Adds a field to the record, or replaces it.
    func field(_ key: String) -> ArchiveNode {
        let node = ArchiveNode()
        fields[key] = node
        return node
    }
}
