extension Layout {
    /// Parses a URL in one pass from left to right, and stops at the first wrong byte.
    ///
    /// RFC 1808 section 2.4 parses a URL from both ends. This single pass finds the same boundaries, because the first
    /// `#`, `?` and `;` each end the component before them.
    @usableFromInline
    init(parsing bytes: Span<UInt8>, maximumLength: Int) throws(GenericURL.ParseError) {
        guard !bytes.isEmpty else { throw GenericURL.ParseError(.emptyInput, at: 0, in: bytes) }
        guard bytes.count <= maximumLength else {
            throw GenericURL.ParseError(.tooLong, at: max(maximumLength, 0), in: bytes)
        }

        var index = try parseScheme(bytes)
        if bytes.byte(at: index) == UInt8(ascii: "/"), bytes.byte(at: index + 1) == UInt8(ascii: "/") {
            index = try parseNetworkLocation(bytes, from: index + 2)
        } else if schemeEnd > 0 {
            isOpaque = bytes.byte(at: index) != UInt8(ascii: "/")
        }
        try parsePathAndTail(bytes, from: index)
    }

    /// Finds the parameters, the query and the fragment after the path or opaque part that starts at `start`.
    private mutating func parsePathAndTail(_ bytes: Span<UInt8>, from start: Int) throws(GenericURL.ParseError) {
        let end = bytes.count
        pathStart = start
        pathEnd = end
        parametersEnd = end
        queryEnd = end
        var block = start
        while block < end {
            var mask = bytes.outsidePath(from: block)
            while mask != 0 {
                let index = block + mask.trailingZeroBitCount
                mask &= mask &- 1
                let byte = bytes[index]
                if byte == UInt8(ascii: "%"), bytes.isEscape(at: index) {
                    continue
                } else if byte == UInt8(ascii: ";") {
                    if pathEnd == end, !isOpaque { pathEnd = index }
                } else if byte == UInt8(ascii: "?") {
                    if parametersEnd == end {
                        pathEnd = min(pathEnd, index)
                        parametersEnd = index
                    }
                } else if byte == UInt8(ascii: "#"), queryEnd == end {
                    pathEnd = min(pathEnd, index)
                    parametersEnd = min(parametersEnd, index)
                    queryEnd = index
                } else {
                    throw bytes.unexpectedByte(at: index)
                }
            }
            block += 64
        }
    }

    /// Parses the scheme (RFC 1808 section 2.4.2), and returns the offset after its colon; 0 if there is none.
    private mutating func parseScheme(_ bytes: Span<UInt8>) throws(GenericURL.ParseError) -> Int {
        let end = bytes.endOfSchemeBytes
        switch bytes.byte(at: end) {
        case UInt8(ascii: ":"):
            guard bytes[0].isLetter else { throw GenericURL.ParseError(.badScheme, at: 0, in: bytes) }
            schemeEnd = end
            return end + 1
        case UInt8(ascii: "/"), UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"):
            return 0
        default:
            // Because of the colon in the first segment, `1+1:2` or `a_b:c` is a malformed scheme. A relative path must
            // be written `./a_b:c`.
            let segmentEnd = bytes.endOfEscaped(.firstRelativeSegment, from: end)
            guard bytes.byte(at: segmentEnd) == UInt8(ascii: ":") else { return 0 }
            throw GenericURL.ParseError(.badScheme, at: bytes[0].isLetter ? end : 0, in: bytes)
        }
    }
}
