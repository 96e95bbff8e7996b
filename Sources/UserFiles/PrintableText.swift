/// Returns a character for a message: printable ASCII in quotes, and any other character as its number.
///
/// A control character or a bidirectional character from a hostile file must not reach a terminal.
package func printable(_ scalar: Unicode.Scalar) -> String {
    if scalar.isASCII, scalar.value >= 0x21, scalar.value != 0x7F { return "'\(scalar)'" }
    let hex = String(scalar.value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex
}

/// Returns a text for a message: every character but printable ASCII is escaped, and the text ends after 1000 bytes.
package func printable(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        if result.utf8.count >= 1000 { return result + "..." }
        let isPlain = scalar.isASCII && scalar.value >= 0x20 && scalar.value != 0x7F
        result += isPlain ? String(scalar) : scalar.escaped(asASCII: true)
    }
    return result
}
