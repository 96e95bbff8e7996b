extension String {
    /// Appends text as UTF-8, and escapes every byte that is not in `set`, which never contains `%`.
    mutating func appendEscaped(_ text: some StringProtocol, _ set: ByteSet) {
        for byte in text.utf8 {
            if set.contains(byte) {
                unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                self += byte.percentEscape
            }
        }
    }

    /// Appends a host, in brackets if it contains a colon.
    ///
    /// Only an IPv6 address can contain one. The parser checks the address later.
    mutating func appendHost(_ host: String) {
        guard host.utf8.contains(UInt8(ascii: ":")) else { return appendEscaped(host, .networkLocation) }
        let (address, zone) = host[...].split(atFirst: UInt8(ascii: "%"))
        self += "["
        appendEscaped(address, .segment)
        if let zone {
            self += "%25"
            appendEscaped(zone, .unreserved)
        }
        self += "]"
    }

    /// Appends the text after a scheme's colon. A slash at the start is escaped, because it would start a path.
    mutating func appendOpaquePart(_ text: String) {
        guard text.utf8.first == UInt8(ascii: "/") else { return appendEscaped(text, .parameters) }
        self += UInt8(ascii: "/").percentEscape
        appendEscaped(text.dropFirst(), .parameters)
    }
}
