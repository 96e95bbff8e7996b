/// The character classes that names are made of.

package func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

package func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }

/// A letter, a digit, `-` or `_`.
package func isNameScalar(_ scalar: Unicode.Scalar) -> Bool {
    guard let byte = UInt8(exactly: scalar.value) else { return false }
    return isLetter(byte) || isDigit(byte) || scalar == "-" || scalar == "_"
}

/// A control character of C0 or C1, or DEL: Unicode's category Cc.
package func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
}

/// The text with the letters A to Z in lower case, and no other character changed.
package func asciiLowercased(_ text: String) -> String {
    guard text.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return text }
    return String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
}

/// A character as a message can show it: quoted if it is printable ASCII, by number otherwise, so that no control or
/// bidirectional character from a hostile file reaches a terminal.
package func printable(_ scalar: Unicode.Scalar) -> String {
    if scalar.isASCII, scalar.value >= 0x21, scalar.value != 0x7F { return "'\(scalar)'" }
    let hex = String(scalar.value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex
}

/// A text as a message can show it, with everything but printable ASCII escaped and what exceeds 1000 bytes cut off.
package func printable(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        if result.utf8.count >= 1000 { return result + "..." }
        let isPlain = scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7F
        result += isPlain ? String(scalar) : scalar.escaped(asASCII: true)
    }
    return result
}
