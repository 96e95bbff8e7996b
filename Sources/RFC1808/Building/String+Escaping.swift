extension Sequence<UInt8> {
    /// The bytes as part of a URL: all except the unreserved ones are escaped (RFC 3986 section 2.3).
    package var percentEscaped: String {
        var text = ""
        text.appendEscaped(self, .unreserved)
        return text
    }
}

extension String {
    /// Appends text as UTF-8, and escapes every byte that is not in `set`, which never contains `%`.
    mutating func appendEscaped(_ text: some StringProtocol, _ set: ByteSet) {
        appendEscaped(text.utf8, set)
    }

    /// Appends bytes, and escapes each one that is not in `set`.
    fileprivate mutating func appendEscaped(_ bytes: some Sequence<UInt8>, _ set: ByteSet) {
        for byte in bytes {
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
