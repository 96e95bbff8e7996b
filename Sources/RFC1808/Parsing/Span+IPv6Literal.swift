/// Parses IPv6 addresses in brackets: the brackets as in RFC 2732, the address as in RFC 3986 section 3.2.2, and the
/// zone as in RFC 6874.
extension Span<UInt8> {
    /// Parses the literal whose `[` is at `start`, and returns the offset after its `]`.
    func endOfIPv6Literal(from start: Int) throws(GenericURL.ParseError) -> Int {
        var index = try endOfIPv6Address(from: start + 1)
        if byte(at: index) == UInt8(ascii: "%") {
            index = try endOfZone(from: index)
        }
        guard byte(at: index) == UInt8(ascii: "]") else { throw badIPv6Address(at: index) }
        return index + 1
    }

    private func endOfIPv6Address(from start: Int) throws(GenericURL.ParseError) -> Int {
        var index = start
        var groups = 0
        var isCompressed = false
        if isDoubleColon(at: index) {
            isCompressed = true
            index += 2
        }
        while !isCompressed || byte(at: index).isHexDigit {
            let group = index
            while byte(at: index).isHexDigit { index += 1 }
            if byte(at: index) == UInt8(ascii: ".") {
                index = try endOfIPv4Address(from: group)
                groups += 2
                break
            }
            guard index > group else { throw badIPv6Address(at: index) }
            guard index - group <= 4 else { throw badIPv6Address(at: group + 4) }
            groups += 1
            guard byte(at: index) == UInt8(ascii: ":") else { break }
            if isDoubleColon(at: index) {
                guard !isCompressed else { throw badIPv6Address(at: index) }
                isCompressed = true
                index += 2
            } else {
                index += 1
                guard byte(at: index).isHexDigit else { throw badIPv6Address(at: index) }
            }
        }
        guard isCompressed ? groups < 8 : groups == 8 else { throw badIPv6Address(at: index) }
        return index
    }

    /// Parses four decimal numbers up to 255, and returns the offset after the last one.
    ///
    /// Leading zeros are refused, because some programs would read the number as octal.
    private func endOfIPv4Address(from start: Int) throws(GenericURL.ParseError) -> Int {
        var index = start
        for position in 0..<4 {
            if position > 0 {
                guard byte(at: index) == UInt8(ascii: ".") else { throw badIPv6Address(at: index) }
                index += 1
            }
            let number = index
            var value = 0
            while byte(at: index).isDigit, index - number < 3 {
                value = value * 10 + Int(byte(at: index) - UInt8(ascii: "0"))
                index += 1
            }
            let hasLeadingZero = index - number > 1 && self[number] == UInt8(ascii: "0")
            guard index > number, value <= 255, !hasLeadingZero else { throw badIPv6Address(at: number) }
        }
        return index
    }

    /// Parses a zone, which starts with the escape `%25`, and returns the offset after it.
    ///
    /// It cannot start with a bare `%`, which would be indistinguishable from another escape.
    private func endOfZone(from start: Int) throws(GenericURL.ParseError) -> Int {
        guard byte(at: start + 1) == UInt8(ascii: "2"), byte(at: start + 2) == UInt8(ascii: "5") else {
            throw badIPv6Address(at: start)
        }
        let end = endOfEscaped(.unreserved, from: start + 3)
        guard end > start + 3 else { throw badIPv6Address(at: end) }
        return end
    }

    private func isDoubleColon(at offset: Int) -> Bool {
        byte(at: offset) == UInt8(ascii: ":") && byte(at: offset + 1) == UInt8(ascii: ":")
    }

    private func badIPv6Address(at offset: Int) -> GenericURL.ParseError {
        GenericURL.ParseError(.badIPv6Address, at: offset, in: self)
    }
}
