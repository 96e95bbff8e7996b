internal import Glibc

/// The contents of a `mime.cache` file: the types in one directory of the shared MIME database.
///
/// `update-mime-database` writes the file, and the Shared MIME-info Specification documents the format ("The mime.cache
/// files"). Numbers are 32 bits long, most significant byte first, and the lists and strings are referred to by their
/// offsets. Reading at an offset outside the file gives 0, which stands for an empty list or an empty string, so a
/// damaged file merely knows fewer types.
struct SharedMimeCache: Sendable {
    /// A match for a file's name.
    struct NameMatch {
        var type: MimeType
        var weight: Int
    }

    private let bytes: [UInt8]

    /// Maximum size of a file, in bytes. On a full desktop, the database is 0.2 MB.
    static let limit = 16 << 20

    /// Where in the header each list's offset is.
    private enum List: Int {
        case aliases = 4
        case parents = 8
        case literals = 12
        case suffixes = 16
        case globs = 20
        case magic = 24
    }

    /// Stores the contents of a file; `nil` if they are not a cache of a known version.
    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard bytes.count >= 40, bytes[0] == 0, bytes[1] == 1, bytes[2] == 0, bytes[3] <= 2 else { return nil }
    }

    // MARK: Types

    /// Returns the type for which an old name stands.
    func canonical(_ alias: MimeType) -> MimeType? {
        let list = records(in: .aliases, size: 8)
        return find(alias, in: list).flatMap { type(at: number(at: $0 + 4)) }
    }

    /// Returns the old names of a type, in byte order.
    func aliases(of type: MimeType) -> [MimeType] {
        records(in: .aliases, size: 8).filter { text(at: number(at: $0 + 4), is: type.rawValue) }.compactMap {
            self.type(at: number(at: $0))
        }
    }

    /// Returns the types of which a type is a special case, as listed in the database.
    func parents(of type: MimeType) -> [MimeType] {
        guard let record = find(type, in: records(in: .parents, size: 8)) else { return [] }
        return records(at: number(at: record + 4), size: 4).compactMap { self.type(at: number(at: $0)) }
    }

    // MARK: Names

    /// Returns the types for files with exactly this name.
    func types(ofLiteral name: [UInt8], matchingCase: Bool) -> [NameMatch] {
        records(in: .literals, size: 12).compactMap { record in
            guard let match = match(at: record + 4, matchingCase: matchingCase, isExact: true) else { return nil }
            return text(at: number(at: record), is: name) ? match : nil
        }
    }

    /// Returns the types for files whose names end like this one, by the longest ending in the database.
    func types(ofSuffix name: [UInt8], matchingCase: Bool) -> [NameMatch] {
        let tree = number(at: number(at: List.suffixes.rawValue) + 4)
        let count = number(at: number(at: List.suffixes.rawValue))
        return types(below: records(at: tree, count: count, size: 12), name[...], matchingCase: matchingCase)
    }

    private func types(below nodes: Records, _ name: ArraySlice<UInt8>, matchingCase: Bool) -> [NameMatch] {
        guard let last = name.last, let node = nodes.first(where: { number(at: $0) == Int(last) }) else { return [] }
        let children = records(at: number(at: node + 8), count: number(at: node + 4), size: 12)
        let longer = types(below: children, name.dropLast(), matchingCase: matchingCase)
        guard longer.isEmpty else { return longer }
        // Among the children, those that end a suffix come first, and have no character.
        return children.prefix { number(at: $0) == 0 }.compactMap { match(at: $0 + 4, matchingCase: matchingCase) }
    }

    /// Returns the types for files whose names match a pattern that is not just an ending.
    func types(ofPattern name: [UInt8], matchingCase: Bool) -> [NameMatch] {
        let name = name.map(CChar.init(bitPattern:)) + [0]
        return records(in: .globs, size: 12).compactMap { record in
            guard let match = match(at: record + 4, matchingCase: matchingCase, isExact: true) else { return nil }
            let pattern = text(at: number(at: record)).map(CChar.init(bitPattern:)) + [0]
            return fnmatch(pattern, name, 0) == 0 ? match : nil
        }
    }

    /// Reads the type and the weight of a match.
    ///
    /// - Parameters:
    ///   - matchingCase: whether the name is compared as written. Only then does a case-sensitive match count.
    ///   - isExact: whether to leave out a match that ignores case if `matchingCase` is set.
    private func match(at offset: Int, matchingCase: Bool, isExact: Bool = false) -> NameMatch? {
        let flags = number(at: offset + 4)
        let distinguishesCase = flags & 0x100 != 0
        guard isExact ? distinguishesCase == matchingCase : matchingCase || !distinguishesCase else { return nil }
        return type(at: number(at: offset)).map { NameMatch(type: $0, weight: flags & 0xFF) }
    }

    // MARK: Contents

    /// Number of bytes at the beginning of a file that determine its type.
    var magicExtent: Int { number(at: number(at: List.magic.rawValue) + 4) }

    /// Returns a file's type, as judged by the file's first bytes, and the priority of the rule.
    func type(ofContents data: [UInt8]) -> (type: MimeType, priority: Int)? {
        let list = number(at: List.magic.rawValue)
        let matches = records(at: number(at: list + 8), count: number(at: list), size: 16)
        var steps = Self.magicSteps
        for match in matches {
            let rules = records(at: number(at: match + 12), count: number(at: match + 8), size: 32)
            guard rules.contains(where: { holds($0, for: data, depth: 0, &steps) }) else { continue }
            return type(at: number(at: match + 4)).map { ($0, number(at: match)) }
        }
        return nil
    }

    /// Maximum number of rules to try and of bytes to compare for one file. The whole database has a thousand rules, with
    /// sixty thousand positions.
    private static let magicSteps = 1 << 20
    /// Maximum depth of rules within rules.
    private static let magicDepth = 32

    /// Returns whether a rule and one of the rules below it hold.
    private func holds(_ rule: Int, for data: [UInt8], depth: Int, _ steps: inout Int) -> Bool {
        steps -= 1
        guard steps > 0, depth < Self.magicDepth, matches(rule, data, &steps) else { return false }
        let narrower = records(at: number(at: rule + 28), count: number(at: rule + 24), size: 32)
        return narrower.underestimatedCount == 0 || narrower.contains { holds($0, for: data, depth: depth + 1, &steps) }
    }

    /// Returns whether a rule's value occurs at one of the rule's positions.
    private func matches(_ rule: Int, _ data: [UInt8], _ steps: inout Int) -> Bool {
        let (start, places, length) = (number(at: rule), number(at: rule + 4), number(at: rule + 12))
        let (value, mask) = (number(at: rule + 16), number(at: rule + 20))
        guard length > 0, value + length <= bytes.count, mask + length <= bytes.count else { return false }
        let last = min(start + places - 1, data.count - length)
        guard start <= last else { return false }
        return (start...last).contains { place in
            (0..<length).allSatisfy { index in
                steps -= 1
                guard steps > 0 else { return false }
                let difference = data[place + index] ^ bytes[value + index]
                return difference & (mask == 0 ? 0xFF : bytes[mask + index]) == 0
            }
        }
    }

    // MARK: Reading

    private typealias Records = StrideTo<Int>

    /// Returns the number at an offset; 0 outside the file.
    private func number(at offset: Int) -> Int {
        guard offset >= 0, offset + 4 <= bytes.count else { return 0 }
        return Int(bytes[offset]) << 24 | Int(bytes[offset + 1]) << 16 | Int(bytes[offset + 2]) << 8
            | Int(bytes[offset + 3])
    }

    /// Returns the offsets of a list's records. The list consists of the number of records and the records.
    private func records(at list: Int, size: Int) -> Records {
        records(at: list + 4, count: list == 0 ? 0 : number(at: list), size: size)
    }

    private func records(in list: List, size: Int) -> Records {
        records(at: number(at: list.rawValue), size: size)
    }

    /// Returns the offsets of those records that are within the file.
    private func records(at first: Int, count: Int, size: Int) -> Records {
        let room = max(0, bytes.count - first) / size
        return stride(from: first, to: first + min(count, room) * size, by: size)
    }

    /// Returns a type's record in a list whose records begin with a type.
    private func find(_ type: MimeType, in list: Records) -> Int? {
        list.first { text(at: number(at: $0), is: type.rawValue) }
    }

    private func text(at offset: Int) -> ArraySlice<UInt8> {
        guard offset > 0, offset < bytes.count else { return [] }
        return bytes[offset...].prefix { $0 != 0 }
    }

    private func text(at offset: Int, is name: [UInt8]) -> Bool { text(at: offset).elementsEqual(name) }

    /// Returns whether this type is at an offset. Some types in the database have upper-case letters.
    private func text(at offset: Int, is type: String) -> Bool {
        guard offset > 0, offset < bytes.count else { return false }
        var place = offset
        for byte in type.utf8 {
            guard place < bytes.count else { return false }
            let found = bytes[place]
            guard ((0x41...0x5A).contains(found) ? found | 0x20 : found) == byte else { return false }
            place += 1
        }
        return place < bytes.count && bytes[place] == 0
    }

    private func type(at offset: Int) -> MimeType? { MimeType(String(decoding: text(at: offset), as: UTF8.self)) }
}
