import Testing

@testable import RFC1808

@Suite struct HexadecimalTests {
    @Test func everyByteHasOneEscape() {
        #expect(UInt8(0).percentEscape == "%00" && UInt8(0x0A).percentEscape == "%0A")
        for byte in UInt8.min ... .max {
            let digits = byte.percentEscape.utf8.dropFirst().compactMap(\.hexValue)
            #expect(digits.count == 2 && digits[0] << 4 | digits[1] == byte)
        }
    }

    @Test func onlyUnreservedBytesNeedNoEscape() {
        let unreserved = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
        let kept = (UInt8.min ... .max).filter { [$0].percentEscaped.utf8.count == 1 }
        #expect(kept == Array(unreserved.utf8))
        #expect("a/b %é".utf8.percentEscaped == "a%2Fb%20%25%C3%A9")
    }

    @Test func onlyDigitsHaveAValue() {
        for byte in UInt8.min ... .max {
            #expect(byte.hexValue == Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init), "\(byte)")
        }
    }

    @Test func digitsHaveTheSizeOfTheNumber() {
        #expect(UInt8(0).hexDigits == "00" && UInt8(0xAB).hexDigits == "ab")
        #expect(UInt64(0xC0FFEE).hexDigits == "0000000000c0ffee")
        #expect(UInt64.max.hexDigits == "ffffffffffffffff")
    }
}
