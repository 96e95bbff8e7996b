extension Unicode.Scalar {
    /// Whether the scalar could mislead a terminal or a person.
    ///
    /// This is true of the controls (C0, DEL, C1), the controls for bidirectional text, and the separators between
    /// lines and paragraphs.
    package var isControl: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// The text with its controls written as `\u{…}`, so that it is safe for a terminal.
    package var printable: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isControl {
                text += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
