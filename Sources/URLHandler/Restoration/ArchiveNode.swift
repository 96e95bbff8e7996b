/// A node of the tree that an ``ArchiveEncoder`` builds. This type is needed because `Encodable` hands out containers
/// before they are filled.
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

    /// The tree whose root is this node.
    var value: ArchivedValue {
        switch kind {
        case .leaf(let value): value
        case .array: .array(elements.map(\.value))
        case .record: .record(fields.mapValues(\.value))
        }
    }

    /// Sets the node to a value.
    func set(_ value: ArchivedValue) {
        kind = .leaf(value)
    }

    /// Makes the node an empty array, unless it is an array already.
    func makeArray() {
        if case .array = kind { return }
        kind = .array
        elements = []
    }

    /// Makes the node an empty record, unless it is a record already.
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

    /// Adds a field to the record, replacing any earlier field with this key.
    func field(_ key: String) -> ArchiveNode {
        let node = ArchiveNode()
        fields[key] = node
        return node
    }
}
