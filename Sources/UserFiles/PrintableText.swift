/// Returns a character for a message: printable ASCII in quotes, and any other character as its number.
///
/// Control and bidirectional characters from a hostile file must not reach a terminal.
package func printable(_ scalar: Unicode.Scalar) -> String {
    if scalar.isASCII, scalar.value >= 0x21, scalar.value != 0x7F { return "'\(scalar)'" }
    let hex = String(scalar.value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex
}

/// Returns a string for a message: every character except printable ASCII is escaped, and the text is cut off after
/// 1000 bytes.
package func printable(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        if result.utf8.count >= 1000 { return result + "..." }
        let isPlain = scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7F
        result += isPlain ? String(scalar) : scalar.escaped(asASCII: true)
    }
    return result
}

/// Returns a string as one line of a log. Misleading characters are escaped, and all others are kept.
package func printableLine(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isMisleading) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
        if isMisleading(scalar) {
            result += scalar.escaped(asASCII: true)
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result
}

/// Returns whether a terminal or a reader could mistake a scalar for something other than plain text: a control
/// character, a control for bidirectional text, or a separator between lines or paragraphs.
package func isMisleading(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: isControl(scalar)
    }
}

/// Returns a string as one word in a command line for the user to copy, in single quotes if it needs them.
///
/// If the text has misleading characters, it is escaped for display instead, and cannot be copied.
package func quotedForShell(_ text: String) -> String {
    let plain = "/.,:+=@%".unicodeScalars
    if !text.isEmpty, text.unicodeScalars.allSatisfy({ isNameScalar($0) || plain.contains($0) }) { return text }
    guard !text.unicodeScalars.contains(where: isMisleading) else { return printable(text) }
    // Split by scalars, because a quotation mark and a combining mark after it form a single, different character.
    let parts = text.unicodeScalars.split(separator: "'", omittingEmptySubsequences: false).map(String.init)
    return "'" + parts.joined(separator: #"'\''"#) + "'"
}
