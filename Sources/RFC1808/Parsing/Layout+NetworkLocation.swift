extension Layout {
    /// Parses `user:password@host:port` from `start`, and returns the offset of the next `/`, `?` or `#`, or the end
    /// (decision D1).
    mutating func parseNetworkLocation(_ bytes: Span<UInt8>, from start: Int) throws(GenericURL.ParseError) -> Int {
        userEnd = start
        hostStart = start
        var index = start
        var firstColon: Int?
        var hostHasTwoColons = false
        var hostIsLiteral = false

        scan: while true {
            index = bytes.endOfNetworkLocationBytes(from: index)
            guard index < bytes.count else { break }
            switch bytes[index] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"):
                break scan
            case UInt8(ascii: ":"):
                if firstColon == nil { firstColon = index } else { hostHasTwoColons = true }
                index += 1
            case UInt8(ascii: "@"):
                guard hostStart == start else { throw GenericURL.ParseError(.secondAtSign, at: index, in: bytes) }
                // Everything up to here was the user information, and brackets may only enclose a host.
                guard !hostIsLiteral else { throw GenericURL.ParseError(.forbiddenByte, at: start, in: bytes) }
                userEnd = firstColon ?? index
                hostStart = index + 1
                firstColon = nil
                hostHasTwoColons = false
                index += 1
            case UInt8(ascii: "[") where index == hostStart:
                hostIsLiteral = true
                index = try bytes.endOfIPv6Literal(from: index)
                switch bytes.byte(at: index) {
                case UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break
                default:
                    guard index == bytes.count else {
                        throw GenericURL.ParseError(.textAfterBracket, at: index, in: bytes)
                    }
                }
            case UInt8(ascii: "%") where bytes.isEscape(at: index):
                index += 3
            default:
                throw bytes.unexpectedByte(at: index)
            }
        }

        hostEnd = firstColon ?? index
        if let firstColon {
            guard !hostHasTwoColons else { throw GenericURL.ParseError(.badHost, at: firstColon, in: bytes) }
            port = try bytes.port(in: firstColon + 1..<index)
        }
        return index
    }
}

extension Span<UInt8> {
    /// Returns the number in a range of bytes; `nil` if the range is empty.
    fileprivate func port(in range: Range<Int>) throws(GenericURL.ParseError) -> UInt16? {
        var value = 0
        for index in range {
            guard self[index].isDigit else { throw GenericURL.ParseError(.badPort, at: index, in: self) }
            value = value * 10 + Int(self[index] - UInt8(ascii: "0"))
            guard value <= UInt16.max else { throw GenericURL.ParseError(.badPort, at: range.lowerBound, in: self) }
        }
        return range.isEmpty ? nil : UInt16(value)
    }
}
