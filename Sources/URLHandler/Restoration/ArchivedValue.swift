internal import ByteCoding

/// A `Codable` value as the tree that is stored in a handler's state file.
enum ArchivedValue: Hashable {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// An integer that is too large for `integer`.
    case unsigned(UInt64)
    case double(Double)
    case string(String)
    indirect case array([ArchivedValue])
    indirect case record([String: ArchivedValue])

    /// How deep values may be nested, so that a damaged file cannot exhaust the stack.
    static let maximumDepth = 256
}

/// The error for a file that is damaged, or is not a handler's state.
package struct DamagedArchive: Error {}

/// Writes an archived value as bytes: a tag, followed by the number, by the text, or by the count and the elements.
///
/// Foundation's JSON would work as well, but would add 0.4 ms to each handler's start and 12 MB to its program.
extension ByteWriter {
    mutating func write(_ value: ArchivedValue) {
        switch value {
        case .null: write(byte: Tag.null)
        case .boolean(let boolean): write(byte: boolean ? Tag.yes : Tag.no)
        case .integer(let integer):
            write(byte: Tag.integer)
            write(integer)
        case .unsigned(let integer):
            write(byte: Tag.unsigned)
            write(integer)
        case .double(let double):
            write(byte: Tag.double)
            write(double.bitPattern)
        case .string(let string):
            write(byte: Tag.string)
            write(string)
        case .array(let elements):
            write(byte: Tag.array)
            write(elements) { $0.write($1) }
        case .record(let fields):
            write(byte: Tag.record)
            // With sorted keys, equal states have equal bytes, and a file that holds the same bytes is not written
            // again.
            write(fields.sorted { $0.key < $1.key }) {
                $0.write($1.key)
                $0.write($1.value)
            }
        }
    }
}

extension ByteReader {
    /// Reads an archived value.
    ///
    /// - Parameter depth: how many values enclose this one.
    mutating func archivedValue(depth: Int = 0) throws(Mismatch) -> ArchivedValue {
        guard depth < ArchivedValue.maximumDepth else { throw Mismatch() }
        switch try byte() {
        case Tag.null: return .null
        case Tag.no: return .boolean(false)
        case Tag.yes: return .boolean(true)
        case Tag.integer: return .integer(try signed())
        case Tag.unsigned: return .unsigned(try unsigned())
        case Tag.double: return .double(Double(bitPattern: try unsigned()))
        case Tag.string: return .string(try string())
        case Tag.array:
            // Do not reserve memory, because nested counts could ask for a lot of it.
            var elements: [ArchivedValue] = []
            for _ in 0..<(try count()) { elements.append(try archivedValue(depth: depth + 1)) }
            return .array(elements)
        case Tag.record:
            var fields: [String: ArchivedValue] = [:]
            for _ in 0..<(try count()) {
                let key = try string()
                fields[key] = try archivedValue(depth: depth + 1)
            }
            return .record(fields)
        default: throw Mismatch()
        }
    }
}

private enum Tag {
    static let null: UInt8 = 0
    static let no: UInt8 = 1
    static let yes: UInt8 = 2
    static let integer: UInt8 = 3
    static let unsigned: UInt8 = 4
    static let double: UInt8 = 5
    static let string: UInt8 = 6
    static let array: UInt8 = 7
    static let record: UInt8 = 8
}
