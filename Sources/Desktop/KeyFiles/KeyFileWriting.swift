internal import UserFiles

/// Values as they are written into key files (Desktop Entry Specification, "Possible value types").
enum KeyFileText {
    /// A value of type `string` or `localestring`. Control characters that cannot be written are left out.
    static func string(_ text: String) -> String {
        escaped(text, separator: false)
    }

    /// A list of strings, with the separator after the last one too.
    static func strings(_ elements: some Sequence<String>) -> String {
        elements.map { escaped($0, separator: true) + ";" }.joined()
    }

    private static func escaped(_ text: String, separator: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\t": result += "\\t"
            case "\r": result += "\\r"
            // White space before a value is no part of it.
            case " " where result.isEmpty: result += "\\s"
            case ";" where separator: result += "\\;"
            case _ where isControl(scalar): break
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// A key file that is changed line by line: every line, comment and group that a change does not concern stays as it is.
struct KeyFileEditor {
    private(set) var bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The lines of one key, and where a new one goes.
    private struct Place {
        /// The lines that give the key a value, with their line ends.
        var lines: [Range<Int>] = []
        var value: Range<Int>?
        /// After the last line of the group that is not blank; `nil` if there is no such group.
        var end: Int?
    }

    /// The value that counts: the last one, as GLib reads the file. Keys are MIME types here, compared without case.
    func value(of key: String, in group: String) -> KeyFileValue? {
        place(of: key, in: group).value.map { KeyFileValue(bytes: bytes[$0]) }
    }

    /// Gives a key a value as it is written in the file, or none.
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
                    if asciiLowercased(String(decoding: buffer[found], as: UTF8.self)) == asciiLowercased(key) {
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
