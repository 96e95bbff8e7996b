/// Decoding of the escapes in one component. It happens once, after the URL was taken apart, so that an escaped separator
/// never separates. `+` is a plus sign.
extension Substring {
    /// The decoded bytes, whatever they are.
    ///
    /// Every `%` is followed by two digits here: the parser accepted the URL.
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

    /// The decoded bytes as text, if they are strict UTF-8 without control characters.
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

    /// The error for the byte that lies at `target` in the decoded bytes.
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
    /// The offset of the first C0 control, DEL or C1 control in UTF-8.
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
