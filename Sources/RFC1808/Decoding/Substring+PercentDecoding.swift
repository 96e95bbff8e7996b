/// Decodes the escapes in one component.
///
/// The escapes are decoded once, after the URL has been split into components, so an escaped separator never separates
/// anything. A `+` remains a plus sign.
extension Substring {
    /// The decoded bytes, which need not be UTF-8.
    ///
    /// Because the parser has accepted the URL, two hexadecimal digits follow every `%`.
    var percentDecodedBytes: [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(utf8.count)
        var bytes = utf8.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "%"), let high = bytes.next()?.hexValue, let low = bytes.next()?.hexValue {
                decoded.append(high << 4 | low)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    /// Returns the decoded bytes as text, if they are valid UTF-8 without control characters.
    func percentDecodedText() throws(GenericURL.PercentDecodingError) -> String {
        guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
        let decoded = percentDecodedBytes
        let text: UTF8Span
        do {
            text = try UTF8Span(validating: decoded.span)
        } catch {
            throw decodingError(.invalidUTF8, atDecodedOffset: error.byteOffsets.lowerBound)
        }
        if let offset = decoded.firstControlCharacter {
            throw decodingError(.controlCharacter, atDecodedOffset: offset)
        }
        return String(copying: text)
    }

    /// Returns the error for the byte at offset `target` of the decoded bytes.
    ///
    /// The error's offset counts from the start of the string of which this text is a part.
    func decodingError(
        _ reason: GenericURL.PercentDecodingError.Reason,
        atDecodedOffset target: Int
    ) -> GenericURL.PercentDecodingError {
        var index = utf8.startIndex
        for _ in 0..<target {
            let width = utf8[index] == UInt8(ascii: "%") ? 3 : 1
            index = utf8.index(index, offsetBy: width)
        }
        let offset = base.utf8.distance(from: base.utf8.startIndex, to: index)
        return GenericURL.PercentDecodingError(reason: reason, offset: offset)
    }
}

extension [UInt8] {
    /// Offset of the first control character: a C0 control, DEL, or a C1 control in UTF-8.
    fileprivate var firstControlCharacter: Int? {
        indices.first { index in
            switch self[index] {
            case ..<0x20, 0x7F: true
            case 0xC2: index + 1 < count && self[index + 1] < 0xA0
            default: false
            }
        }
    }
}
