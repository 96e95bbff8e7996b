extension UInt8 {
    /// The value of a hexadecimal digit of either case; `nil` for any other byte.
    package var hexValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The byte's escape in a URL, with upper-case digits (RFC 3986 section 2.1).
    package var percentEscape: String {
        "%" + (self < 16 ? "0" : "") + String(self, radix: 16, uppercase: true)
    }
}

extension UnsignedInteger where Self: FixedWidthInteger {
    /// All the number's hexadecimal digits, in lower case: two for a byte, 16 for 64 bits.
    package var hexDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: Self.bitWidth / 4 - digits.utf8.count) + digits
    }
}
