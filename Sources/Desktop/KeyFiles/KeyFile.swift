/// The groups of a key file that somebody asked for, with their values still as they were written.
struct KeyFile {
    /// Keys and values of one group, in the order of their first appearance.
    struct Group {
        fileprivate(set) var keys: [String] = []
        fileprivate var values: [String: [UInt8]] = [:]

        subscript(key: String) -> KeyFileValue? { values[key].map(KeyFileValue.init) }
    }

    /// What is wrong with a line, or with a key.
    struct Problem: Error, Hashable {
        var key: String?
        var reason: String
    }

    private(set) var groups: [String: Group] = [:]
    /// The name of the group that comes first.
    private(set) var firstGroup: String?
    /// Lines that are no lines of a key file. They are left out.
    private(set) var malformed: [Problem] = []
    /// What is there twice, against the specification; of two values the later one counts, as with GLib.
    private(set) var repeated: [Problem] = []

    /// Reads the groups with these names, in linear time.
    init(_ bytes: [UInt8], groups wanted: Set<String>) {
        bytes.withUnsafeBufferPointer { read($0, wanted) }
    }

    private mutating func read(_ bytes: UnsafeBufferPointer<UInt8>, _ wanted: Set<String>) {
        func text(_ range: Range<Int>) -> String? { String(validating: bytes[range], as: UTF8.self) }
        var name: String?
        var group: Group?
        var number = 0
        for line in KeyFileLines(bytes) {
            number += 1
            switch line.content {
            case .nothing: break
            case .malformed(let reason): malformed.append(Problem(key: "line \(number)", reason: reason))
            case .group(let range):
                if let name { groups[name] = group }
                let found = String(decoding: bytes[range], as: UTF8.self)
                if firstGroup == nil { firstGroup = found }
                name = wanted.contains(found) ? found : nil
                // Taken out while it is filled, so that it is not copied with every line.
                group = name.map { groups.removeValue(forKey: $0) ?? Group() }
                if group?.keys.isEmpty == false {
                    repeated.append(Problem(key: "[\(found)]", reason: "is there twice"))
                }
            case .entry(let keyRange, let value):
                guard firstGroup != nil else {
                    malformed.append(Problem(key: "line \(number)", reason: "is a key before the first group"))
                    continue
                }
                guard group != nil else { continue }
                guard let key = text(keyRange) else {
                    malformed.append(Problem(key: "line \(number)", reason: "has a key that is not UTF-8"))
                    continue
                }
                if group?.values.updateValue(Array(bytes[value]), forKey: key) == nil {
                    group?.keys.append(key)
                } else {
                    repeated.append(Problem(key: printable(key), reason: "is there twice"))
                }
            }
        }
        if let name { groups[name] = group }
    }
}

/// A value as it stands in a key file, and what it means as one of the types of the Desktop Entry Specification,
/// "Possible value types".
struct KeyFileValue {
    let bytes: [UInt8]

    /// Why a value is not one of its type.
    struct Invalid: Error, Hashable {
        var reason: String
    }

    /// A `string` or `localestring`.
    func string() throws(Invalid) -> String {
        try unescaped(bytes[...])
    }

    /// The elements of a list of strings, without the empty ones.
    func strings() throws(Invalid) -> [String] {
        var elements: [String] = []
        var start = bytes.startIndex
        var index = start
        while true {
            let isEnd = index >= bytes.endIndex
            if isEnd || bytes[index] == UInt8(ascii: ";") {
                let element = bytes[start..<min(index, bytes.endIndex)]
                if !element.isEmpty { elements.append(try unescaped(element, separator: true)) }
                if isEnd { return elements }
                start = index + 1
            }
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
    }

    /// A `boolean`: `true` or `false`, and the `1` and `0` of older entries, with blanks after it as GLib has it.
    func boolean() throws(Invalid) -> Bool {
        let end = bytes.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { $0 + 1 } ?? bytes.startIndex
        switch String(decoding: bytes[..<end], as: UTF8.self) {
        case "true", "1": return true
        case "false", "0": return false
        default: throw Invalid(reason: "is neither true nor false")
        }
    }

    /// Undoes `\s`, `\n`, `\t`, `\r`, `\\`, and `\;` in an element of a list.
    private func unescaped(_ bytes: ArraySlice<UInt8>, separator: Bool = false) throws(Invalid) -> String {
        var result = Array(bytes)
        if bytes.contains(UInt8(ascii: "\\")) {
            result = []
            var rest = bytes
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "\\") else {
                    result.append(byte)
                    continue
                }
                switch rest.popFirst() {
                case UInt8(ascii: "s"): result.append(UInt8(ascii: " "))
                case UInt8(ascii: "n"): result.append(UInt8(ascii: "\n"))
                case UInt8(ascii: "t"): result.append(UInt8(ascii: "\t"))
                case UInt8(ascii: "r"): result.append(UInt8(ascii: "\r"))
                case UInt8(ascii: "\\"): result.append(UInt8(ascii: "\\"))
                case UInt8(ascii: ";") where separator: result.append(UInt8(ascii: ";"))
                case nil: throw Invalid(reason: "ends with a lone '\\'")
                default: throw Invalid(reason: "holds an escape sequence other than \\s, \\n, \\t, \\r and \\\\")
                }
            }
        }
        guard let text = String(validating: result, as: UTF8.self) else { throw Invalid(reason: "is not UTF-8") }
        guard !result.contains(0) else { throw Invalid(reason: "holds U+0000") }
        return text
    }
}
