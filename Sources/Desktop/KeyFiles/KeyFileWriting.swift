internal import UserFiles

/// Values in the form that key files use (Desktop Entry Specification, "Possible value types").
package enum KeyFileText {
    /// Returns a `string` or `localestring` in its written form. Control characters that have no escape sequence are
    /// left out.
    package static func string(_ text: String) -> String {
        escaped(text, separator: false)
    }

    /// Returns a list of strings in its written form, with a separator after every string.
    static func strings(_ elements: some Sequence<String>) -> String {
        elements.map { escaped($0, separator: true) + ";" }.joined()
    }

    private static func escaped(_ text: String, separator: Bool) -> String {
        // This is so for identifiers and types.
        if text.utf8.allSatisfy({ isSchemeByte($0) || $0 == UInt8(ascii: "/") }) { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            // A reader would ignore a plain space in front of a value.
            case " " where result.isEmpty: result += "\\s"
            case ";" where separator: result += "\\;"
            case _ where isControl(scalar): break
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// An editor for a key file. Lines, comments and groups that are not affected by a change stay as they are.
struct KeyFileEditor {
    private(set) var bytes: [UInt8]
    /// Whether keys are equal if only their case differs, as is so for MIME types.
    private let ignoresCase: Bool

    init(_ bytes: [UInt8], ignoringCase: Bool = true) {
        self.bytes = bytes
        ignoresCase = ignoringCase
    }

    /// A key's lines, and the place for a new one.
    private struct Place {
        /// Lines that give the key a value, including their line ends.
        var lines: [Range<Int>] = []
        var value: Range<Int>?
        /// The end of the group's last line that is not blank; `nil` if there is no such group.
        var end: Int?
    }

    /// Returns a key's value. If there are several, the last one counts, as in GLib.
    func value(of key: String, in group: String) -> KeyFileValue? {
        place(of: key, in: group).value.map { KeyFileValue(bytes: bytes[$0]) }
    }

    /// Sets a key's value, in its written form. Removes the key if the value is `nil`.
    mutating func setValue(_ value: String?, of key: String, in group: String) {
        let place = place(of: key, in: group)
        for line in place.lines.dropLast().reversed() { bytes.removeSubrange(line) }
        let removed = place.lines.dropLast().reduce(0) { $0 + $1.count }
        let line = value.map { Array("\(key)=\($0)\n".utf8) } ?? []
        if let last = place.lines.last {
            bytes.replaceSubrange(last.lowerBound - removed..<last.upperBound - removed, with: line)
        } else if value != nil {
            insert(line, of: group, at: place.end)
        }
    }

    private mutating func insert(_ line: [UInt8], of group: String, at end: Int?) {
        let newline = UInt8(ascii: "\n")
        if let end {
            let isUnterminated = end > 0 && bytes[end - 1] != newline
            bytes.insert(contentsOf: isUnterminated ? [newline] + line : line, at: end)
        } else {
            if let last = bytes.last, last != newline { bytes.append(newline) }
            if !bytes.isEmpty { bytes.append(newline) }
            bytes += Array("[\(group)]\n".utf8) + line
        }
    }

    /// Returns a key in the form in which keys are compared.
    private func spelling(_ key: String) -> String { ignoresCase ? asciiLowercased(key) : key }

    private func place(of key: String, in group: String) -> Place {
        bytes.withUnsafeBufferPointer { buffer in
            var place = Place()
            var isInGroup = false
            for line in KeyFileLines(buffer) {
                switch line.content {
                case .nothing: continue
                case .group(let name):
                    isInGroup = buffer[name].elementsEqual(group.utf8)
                case .entry(let found, let value) where isInGroup:
                    if spelling(String(decoding: buffer[found], as: UTF8.self)).utf8
                        .elementsEqual(spelling(key).utf8)
                    {
                        place.lines.append(line.range)
                        place.value = value
                    }
                case .entry, .malformed: break
                }
                if isInGroup { place.end = line.range.upperBound }
            }
            return place
        }
    }
}
