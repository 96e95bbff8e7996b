internal import Glibc

// Classes of characters in the names of files and handlers. All except `isControl` are ASCII.

/// Returns whether a byte is a digit.
package func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

/// Returns whether a byte is an upper-case or lower-case letter.
package func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }

/// Returns whether a scalar is a letter, a digit, `-` or `_`.
package func isNameScalar(_ scalar: Unicode.Scalar) -> Bool {
    guard let byte = UInt8(exactly: scalar.value) else { return false }
    return isLetter(byte) || isDigit(byte) || scalar == "-" || scalar == "_"
}

/// Returns whether a scalar is a control character: Unicode's category Cc, which is C0, C1 and DEL.
package func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
}

extension Collection<UInt8> {
    /// Whether these bytes come before others in byte order. Long common beginnings, such as those of identifiers, are
    /// compared many bytes at a time.
    package func precedesInByteOrder(_ other: some Collection<UInt8>) -> Bool {
        withContiguousStorageIfAvailable { left in
            other.withContiguousStorageIfAvailable { right in
                let count = Swift.min(left.count, right.count)
                guard count > 0, let first = left.baseAddress, let second = right.baseAddress else {
                    return left.count < right.count
                }
                let order = memcmp(first, second, count)
                return order == 0 ? left.count < right.count : order < 0
            }
        }?.flatMap { $0 } ?? lexicographicallyPrecedes(other)
    }
}

/// Returns the text with the letters A to Z in lower case, and all others as they are.
package func asciiLowercased(_ text: String) -> String {
    guard text.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return text }
    return String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
}
