internal import ByteCoding
internal import UserFiles

/// Selected groups of a key file. Their values are still in their written form.
package struct KeyFile {
    /// A problem with a line or a key.
    struct Problem {
        let kind: Diagnostic.Kind
        let key: String
        let reason: String
    }

    /// A line that gives a key a value.
    private struct Entry {
        var key: Range<Int>
        var value: Range<Int>
        var line: Int
    }

    /// The name of the first group.
    package private(set) var firstGroup: String?
    /// The lines that are not valid in a key file and are left out.
    private(set) var malformed: [Problem] = []
    /// The groups that appear twice, which the specification forbids. As in GLib, they count as one.
    private(set) var repeated: [Problem] = []

    private let bytes: [UInt8]
    private var groups: [String: [Entry]] = [:]

    /// Reads the groups with these names, in linear time.
    package init(_ bytes: [UInt8], groups wanted: Set<String>) {
        self.init(bytes, where: wanted.contains)
    }

    /// Reads the groups whose names are wanted, in linear time.
    init(_ bytes: [UInt8], where isWanted: (String) -> Bool) {
        self.bytes = bytes
        bytes.withUnsafeBufferPointer { read($0, isWanted) }
    }

    private mutating func read(_ bytes: UnsafeBufferPointer<UInt8>, _ isWanted: (String) -> Bool) {
        var name: String?
        var entries: [Entry] = []
        var number = 0
        for line in KeyFileLines(bytes) {
            number += 1
            switch line.content {
            case .nothing: break
            case .malformed(let reason): addMalformed(line: number, reason)
            case .entry where firstGroup == nil: addMalformed(line: number, "is a key before the first group")
            case .entry(let key, let value):
                if name != nil { entries.append(Entry(key: key, value: value, line: number)) }
            case .group(let range):
                if let name { groups[name] = entries }
                let text = String(decoding: bytes[range], as: UTF8.self)
                // A name with many marks would take too long to compare, and no group that is wanted has one.
                let found = text.hasTooManyMarks ? "" : text
                if firstGroup == nil { firstGroup = found }
                name = isWanted(found) ? found : nil
                if name != nil, groups[found] != nil {
                    repeated.append(Problem(kind: .repetition, key: "[\(found)]", reason: "appears twice"))
                }
                // While the array grows, it is not in the dictionary, so that appending does not copy it.
                entries = groups.removeValue(forKey: found) ?? []
            }
        }
        if let name { groups[name] = entries }
    }

    private mutating func addMalformed(line number: Int, _ reason: String) {
        malformed.append(Problem(kind: .malformedLine, key: "line \(number)", reason: reason))
    }

    /// Returns whether the group exists.
    package func hasGroup(_ name: String) -> Bool { groups[name] != nil }

    /// Returns a key's values in a group, in order. As in GLib, the last one counts.
    package func values(of key: String, in group: String) -> [KeyFileValue] {
        (groups[group] ?? []).filter { bytes[$0.key].elementsEqual(key.utf8) }
            .map { KeyFileValue(bytes: bytes[$0.value]) }
    }

    /// The names of the groups that were read, in byte order.
    var groupNames: [String] { groups.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    /// Returns all keys in a group with their values and their lines, counted from 1, in order.
    package func entries(of group: String) -> [(key: ArraySlice<UInt8>, value: KeyFileValue, line: Int)] {
        (groups[group] ?? []).map { (bytes[$0.key], KeyFileValue(bytes: bytes[$0.value]), $0.line) }
    }
}

extension Problems {
    /// Adds a problem with a key file.
    mutating func add(_ severity: Diagnostic.Severity, _ problem: KeyFile.Problem) {
        add(severity, problem.key, problem.reason, problem.kind)
    }
}

/// A value in its written form, which can be converted to the types in the Desktop Entry Specification, "Possible value
/// types".
package struct KeyFileValue {
    let bytes: ArraySlice<UInt8>

    /// Thrown if a value does not have the requested type; gives the reason.
    package struct Invalid: Error, Hashable {
        package var reason: String
        /// The string that GLib reads in spite of the reason. It keeps wrong escape sequences as they are. `nil` if it
        /// reads none.
        package var text: String?

        package init(reason: String, text: String? = nil) {
            self.reason = reason
            self.text = text
        }
    }

    /// Returns the value as a `string` or `localestring`.
    package func string() throws(Invalid) -> String {
        try unescaped(bytes)
    }

    /// Returns the elements of a list of strings, without empty elements.
    package func strings() throws(Invalid) -> [String] {
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

    /// Returns the value as a `boolean`: `true` or `false`, or `1` or `0` as in older entries. Blanks may follow, as in
    /// GLib.
    package func boolean() throws(Invalid) -> Bool {
        let end = bytes.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { $0 + 1 } ?? bytes.startIndex
        switch try text(bytes[..<end]) {
        case "true", "1": return true
        case "false", "0": return false
        default: throw Invalid(reason: "is neither true nor false")
        }
    }

    /// Decodes `\s`, `\n`, `\t`, `\r` and `\\`, and also `\;` in a list element.
    private func unescaped(_ bytes: ArraySlice<UInt8>, separator: Bool = false) throws(Invalid) -> String {
        guard !bytes.contains(0) else { throw Invalid(reason: "contains U+0000") }
        guard bytes.contains(UInt8(ascii: "\\")) else { return try text(bytes) }
        var result: [UInt8] = []
        var problem: String?
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
            case nil: problem = "ends with a lone '\\'"
            case let other?:
                problem = "contains an escape sequence other than \\s, \\n, \\t, \\r and \\\\"
                result += [UInt8(ascii: "\\"), other]
            }
        }
        let string = try text(result[...])
        if let problem { throw Invalid(reason: problem, text: string) }
        return string
    }

    private func text(_ bytes: ArraySlice<UInt8>) throws(Invalid) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Invalid(reason: "is not UTF-8") }
        guard !text.hasTooManyMarks else {
            throw Invalid(reason: "has more than \(String.maximumMarks) combining marks in a row")
        }
        return text
    }
}
