extension GenericURL {
    /// Returns a string with an escape for each byte that cannot appear in a URL.
    ///
    /// Some programs show a URL in a decoded form and then pass on that form. This undoes the decoding of every byte
    /// that a URL can contain only as an escape, so most such strings become URLs again. The text of a URL stays as it
    /// is. If a decoded byte has a meaning in URLs, such as `/`, there is no way to see whether it was an escape.
    ///
    /// These bytes get an escape: all bytes outside printable ASCII, the space, `"<>\^{|}` and the backtick; a `%`
    /// without two hexadecimal digits; each `#` after the first one; and a bracket outside the network location.
    package static func escapingForbiddenBytes(in bytes: some Sequence<UInt8>) -> String {
        let bytes = Array(bytes)
        let location = networkLocation(in: bytes)
        var result = ""
        result.reserveCapacity(bytes.count)
        var hasFragment = false
        for (index, byte) in bytes.enumerated() {
            let isAllowed =
                switch byte {
                case UInt8(ascii: "%"):
                    bytes.dropFirst(index + 1).prefix(2).count(where: ByteSet.hexDigits.contains) == 2
                case UInt8(ascii: "["), UInt8(ascii: "]"): location.contains(index)
                case UInt8(ascii: "#"): !hasFragment
                // Some programs treat a backslash as a slash. Escaping it would change the host, so leave it for the
                // parser to refuse.
                case UInt8(ascii: "\\"): location.contains(index)
                default: ByteSet.query.contains(byte)
                }
            if byte == UInt8(ascii: "#") { hasFragment = true }
            if isAllowed { result.unicodeScalars.append(Unicode.Scalar(byte)) } else { result += byte.percentEscape }
        }
        return result
    }

    /// Returns the range of the network location in a string that need not be a URL.
    private static func networkLocation(in bytes: [UInt8]) -> Range<Int> {
        let slash = UInt8(ascii: "/")
        var start = bytes.prefix(while: ByteSet.scheme.contains).endIndex
        if start < bytes.endIndex, bytes[start] == UInt8(ascii: ":") { start += 1 } else { start = 0 }
        guard bytes[start...].starts(with: [slash, slash]) else { return 0..<0 }
        start += 2
        let ends = [slash, UInt8(ascii: "?"), UInt8(ascii: "#")]
        return start..<(bytes[start...].firstIndex(where: ends.contains) ?? bytes.endIndex)
    }
}
