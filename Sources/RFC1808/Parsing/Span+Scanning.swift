extension Span<UInt8> {
    /// Returns the byte at an offset, or 0 past the end. No URL contains a 0 byte.
    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        offset < count ? self[offset] : 0
    }

    /// Returns the end of the run of bytes in `set` that starts at `start`.
    @inline(__always)
    func end(of set: ByteSet, from start: Int) -> Int {
        var index = start
        while index < count, set.contains(self[index]) {
            index += 1
        }
        return index
    }

    /// Returns the end of the run of bytes in `set` and valid escapes that starts at `start`.
    @inline(__always)
    func endOfEscaped(_ set: ByteSet, from start: Int) -> Int {
        var index = end(of: set, from: start)
        while isEscape(at: index) {
            index = end(of: set, from: index + 3)
        }
        return index
    }

    /// Returns whether there is a `%` with two hexadecimal digits at an offset.
    @inline(__always)
    func isEscape(at offset: Int) -> Bool {
        byte(at: offset) == UInt8(ascii: "%")
            && byte(at: offset + 1).isHexDigit && byte(at: offset + 2).isHexDigit
    }

    /// Returns the error for a byte that the component at this offset cannot contain.
    func unexpectedByte(at offset: Int) -> GenericURL.ParseError {
        GenericURL.ParseError(self[offset] == UInt8(ascii: "%") ? .badEscape : .forbiddenByte, at: offset, in: self)
    }
}

extension UInt8 {
    var isHexDigit: Bool { ByteSet.hexDigits.contains(self) }

    var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
}
