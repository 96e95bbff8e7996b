extension Span<UInt8> {
    /// The byte at an offset, or 0, which no URL holds, at the end.
    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        offset < count ? self[offset] : 0
    }

    /// The end of the run of bytes of `set` that starts at `start`.
    @inline(__always)
    func end(of set: ByteSet, from start: Int) -> Int {
        var index = start
        while index < count, set.contains(self[index]) {
            index += 1
        }
        return index
    }

    /// The end of the run of bytes of `set` and of valid escapes that starts at `start`.
    @inline(__always)
    func endOfEscaped(_ set: ByteSet, from start: Int) -> Int {
        var index = end(of: set, from: start)
        while isEscape(at: index) {
            index = end(of: set, from: index + 3)
        }
        return index
    }

    /// Whether `%` and two hexadecimal digits stand at an offset.
    @inline(__always)
    func isEscape(at offset: Int) -> Bool {
        byte(at: offset) == UInt8(ascii: "%")
            && byte(at: offset + 1).isHexDigit && byte(at: offset + 2).isHexDigit
    }

    /// The error for the byte that ended a run although nothing may end there.
    func unexpectedByte(at offset: Int) -> GenericURL.ParseError {
        GenericURL.ParseError(self[offset] == UInt8(ascii: "%") ? .badEscape : .forbiddenByte, at: offset, in: self)
    }
}

extension UInt8 {
    var isHexDigit: Bool { ByteSet.hexDigits.contains(self) }

    /// The value of a hexadecimal digit of either case.
    var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
}
