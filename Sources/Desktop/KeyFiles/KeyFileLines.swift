internal import Glibc
internal import UserFiles

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
/// The specification does not mention either, but GLib accepts both. The malformed lines are those because of which
/// GLib 2.74 rejects a file.
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
        // GLib takes a NUL for the end of the line.
        guard let first = line.first(where: { !isSpace(bytes[$0]) }), bytes[first] != 0,
            bytes[first] != UInt8(ascii: "#")
        else { return .nothing }
        let text = first..<line.upperBound
        if bytes[first] == UInt8(ascii: "[") {
            let end = text.last { !isBlank(bytes[$0]) } ?? first
            guard first < end, bytes[end] == UInt8(ascii: "]") else {
                return .malformed("opens a group header but does not close it")
            }
            let name = first + 1..<end
            guard !name.isEmpty, name.allSatisfy({ bytes[$0] >= 0x20 && bytes[$0] != 0x7F && !isBracket(bytes[$0]) })
            else { return .malformed("has an invalid group name") }
            return .group(name: name)
        }
        guard let base = bytes.baseAddress,
            let found = memchr(base + first, Int32(UInt8(ascii: "=")), text.count)
        else { return .malformed("is neither a comment nor a group nor a key with its value") }
        let sign = UnsafeRawPointer(found) - UnsafeRawPointer(base)
        guard let last = (first..<sign).last(where: { !isSpace(bytes[$0]) }) else {
            return .malformed("has no key before '='")
        }
        guard isKey(first...last) else { return .malformed("has an invalid key") }
        let value = (sign + 1..<line.upperBound).first { !isSpace(bytes[$0]) } ?? line.upperBound
        return .entry(key: first..<last + 1, value: value..<line.upperBound)
    }

    /// Returns whether GLib accepts a key. It may contain blanks and control characters, but brackets only around a
    /// locale at its end.
    private func isKey(_ key: ClosedRange<Int>) -> Bool {
        guard !key.contains(where: { bytes[$0] == 0 }) else { return false }
        guard let bracket = key.first(where: { isBracket(bytes[$0]) }) else { return true }
        guard bytes[bracket] == UInt8(ascii: "["), bytes[key.upperBound] == UInt8(ascii: "]"),
            let last = (key.lowerBound..<bracket).last, bytes[last] != 0x20
        else { return false }
        return (bracket + 1..<key.upperBound).allSatisfy { isLocaleByte(bytes[$0]) }
    }
}

/// Returns whether a byte is a space or a tab.
private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

/// Returns whether a byte is a space, a tab, a form feed or a CR.
private func isSpace(_ byte: UInt8) -> Bool { isBlank(byte) || byte == 0x0C || byte == 0x0D }

/// Returns whether a byte can be in a key's locale, or belongs to a character beyond ASCII.
private func isLocaleByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "@"), 0x80...: true
    default: isLetter(byte) || isDigit(byte)
    }
}

private func isBracket(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") }
