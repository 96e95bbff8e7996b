internal import Glibc

/// A line in a key file, given by ranges of the file's bytes.
struct KeyFileLine {
    enum Content: Hashable {
        /// A blank line or a comment.
        case nothing
        /// A group header, `[name]`.
        case group(name: Range<Int>)
        /// A line `key=value`. There is no white space around the key or before the value.
        case entry(key: Range<Int>, value: Range<Int>)
        /// A malformed line, with the reason.
        case malformed(String)
    }

    /// The line's bytes, including the line end.
    var range: Range<Int>
    var content: Content
}

/// The lines of a key file, in order (Desktop Entry Specification, "Basic format of the file").
///
/// Lines end with LF. A CR before the LF is not part of the line, and white space at the start of a line is ignored.
/// GLib accepts both, although the specification does not mention them.
struct KeyFileLines: Sequence, IteratorProtocol {
    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var position: Int

    init(_ bytes: UnsafeBufferPointer<UInt8>, from position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    mutating func next() -> KeyFileLine? {
        guard position < bytes.count, let base = bytes.baseAddress else { return nil }
        let start = position
        var end = bytes.count
        if let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start) {
            end = UnsafeRawPointer(found) - UnsafeRawPointer(base)
        }
        position = Swift.min(end + 1, bytes.count)
        if end > start, end < bytes.count, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return KeyFileLine(range: start..<position, content: content(start..<end))
    }

    private func content(_ line: Range<Int>) -> KeyFileLine.Content {
        guard let first = line.first(where: { !isBlank(bytes[$0]) }), bytes[first] != UInt8(ascii: "#") else {
            return .nothing
        }
        let text = first..<line.upperBound
        if bytes[first] == UInt8(ascii: "[") {
            let end = trimmedEnd(text) - 1
            guard first < end, bytes[end] == UInt8(ascii: "]") else {
                return .malformed("opens a group header but does not close it")
            }
            let name = first + 1..<end
            guard !name.isEmpty, name.allSatisfy({ bytes[$0] >= 0x20 && bytes[$0] < 0x7F && !isBracket(bytes[$0]) })
            else { return .malformed("has an invalid group name") }
            return .group(name: name)
        }
        guard let base = bytes.baseAddress,
            let found = memchr(base + first, Int32(UInt8(ascii: "=")), text.count)
        else { return .malformed("is neither a comment nor a group nor a key with its value") }
        let sign = UnsafeRawPointer(found) - UnsafeRawPointer(base)
        let key = first..<trimmedEnd(first..<sign)
        guard !key.isEmpty else { return .malformed("has no key before '='") }
        guard key.allSatisfy({ bytes[$0] > 0x20 && bytes[$0] != 0x7F }) else {
            return .malformed("has a key with blanks or control characters")
        }
        let value = (sign + 1..<line.upperBound).first { !isBlank(bytes[$0]) } ?? line.upperBound
        return .entry(key: key, value: value..<line.upperBound)
    }

    private func trimmedEnd(_ range: Range<Int>) -> Int {
        range.last { !isBlank(bytes[$0]) }.map { $0 + 1 } ?? range.lowerBound
    }
}

/// Returns whether a byte is a space or a tab.
private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

private func isBracket(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") }
