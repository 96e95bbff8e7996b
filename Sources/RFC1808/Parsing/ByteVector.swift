/// 16 bytes of a URL, all compared at once.
///
/// This is the only file in the module that reads memory without a bounds check and reinterprets bits, so `make fuzz`
/// runs it under AddressSanitizer. A vector is loaded only where all 16 bytes lie in the span.
///
/// Only an operator between two vectors compiles to one instruction. An operator between a vector and a scalar, or
/// between two masks, works lane by lane. So the code first copies each constant into every lane of a vector, and
/// treats the results of a comparison as integers, with 0xFF for true.
private struct ByteVector {
    private let bytes: SIMD16<UInt8>

    @inline(__always)
    init(_ bytes: SIMD16<UInt8>) {
        self.bytes = bytes
    }

    @inline(__always)
    private func all(_ byte: UInt8) -> SIMD16<UInt8> {
        SIMD16<UInt8>(repeating: byte)
    }

    @inline(__always)
    private func equal(_ scalar: Unicode.Scalar) -> SIMD16<UInt8> {
        unsafe unsafeBitCast(bytes .== all(UInt8(ascii: scalar)), to: SIMD16<UInt8>.self)
    }

    @inline(__always)
    private func between(_ first: Unicode.Scalar, _ last: Unicode.Scalar) -> SIMD16<UInt8> {
        let first = all(UInt8(ascii: first))
        let width = all(UInt8(ascii: last)) &- first
        return unsafe unsafeBitCast(bytes &- first .<= width, to: SIMD16<UInt8>.self)
    }

    /// Lanes with a byte that needs attention in every component: one that no component may contain, a bracket, or a
    /// `?`, `#` or `%`.
    ///
    /// Brackets may only enclose an IPv6 host, which `endOfIPv6Literal(from:)` parses.
    @inline(__always)
    private var marked: SIMD16<UInt8> {
        let printable = between("!", "z") | equal("~")
        return printable ^ all(0xFF)
            | equal("\"") | equal("<") | equal(">") | between("[", "^") | equal("`")
            | equal("?") | equal("#") | equal("%")
    }

    /// A mask: bit `n` is 1 if byte `n` is not in `ByteSet.path`.
    @inline(__always)
    var outsidePath: UInt64 {
        gather(marked | equal(";"))
    }

    /// A mask: bit `n` is 1 if byte `n` is not in `ByteSet.networkLocation`.
    @inline(__always)
    var outsideNetworkLocation: UInt64 {
        gather(marked | equal("/") | equal(":") | equal("@"))
    }

    /// A mask: bit `n` is 1 if byte `n` is not in `ByteSet.scheme`.
    @inline(__always)
    var outsideScheme: UInt64 {
        let lowercased = ByteVector(bytes | all(0x20))
        let member = lowercased.between("a", "z") | between("0", "9") | equal("+") | equal("-") | equal(".")
        return gather(member ^ all(0xFF))
    }

    /// Gathers one bit from each lane: 1 from a lane of 0xFF, and 0 from a lane of 0x00.
    @inline(__always)
    private func gather(_ lanes: SIMD16<UInt8>) -> UInt64 {
        let halves = unsafe unsafeBitCast(lanes, to: SIMD2<UInt64>.self)
        return halves.x.bitOfEachByte | halves.y.bitOfEachByte &<< 8
    }
}

extension UInt64 {
    /// The lowest bit of each byte, gathered in one byte. Each byte must be 0x00 or 0xFF.
    ///
    /// Multiplying moves bit `8 * n` to bit `56 + n`.
    @inline(__always)
    fileprivate var bitOfEachByte: UInt64 {
        ((self & 0x0101_0101_0101_0101) &* 0x0102_0408_1020_4080) &>> 56
    }
}

extension Span<UInt8> {
    @inline(__always)
    private func vector(at offset: Int) -> ByteVector {
        ByteVector(unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: SIMD16<UInt8>.self))
    }

    /// End of the run of bytes in `ByteSet.scheme` that starts at offset 0.
    @inline(__always)
    var endOfSchemeBytes: Int {
        var index = 0
        while index <= count - 16 {
            let outside = vector(at: index).outsideScheme
            if outside != 0 { return index + outside.trailingZeroBitCount }
            index += 16
        }
        return end(of: .scheme, from: index)
    }

    /// Returns the end of the run of bytes in `ByteSet.networkLocation` that starts at `start`.
    @inline(__always)
    func endOfNetworkLocationBytes(from start: Int) -> Int {
        var index = start
        while index <= count - 16 {
            let outside = vector(at: index).outsideNetworkLocation
            if outside != 0 { return index + outside.trailingZeroBitCount }
            index += 16
        }
        return end(of: .networkLocation, from: index)
    }

    /// Returns a mask of the 64 bytes from `start`: bit `n` is 1 if the byte at `start + n` is not in `ByteSet.path`.
    ///
    /// Bits past the end of the span are 0.
    @inline(__always)
    func outsidePath(from start: Int) -> UInt64 {
        var mask: UInt64 = 0
        var offset = start
        while offset < count, offset - start < 64 {
            let outside: UInt64
            if offset <= count - 16 {
                outside = vector(at: offset).outsidePath
            } else if count >= 16 {
                // If fewer than 16 bytes are left, load the last 16 bytes of the span and shift out the bytes before
                // the offset.
                outside = vector(at: count - 16).outsidePath &>> UInt64(truncatingIfNeeded: offset - (count - 16))
            } else {
                outside = outsidePathOfShortSpan &>> UInt64(truncatingIfNeeded: offset)
            }
            mask |= outside &<< UInt64(truncatingIfNeeded: offset - start)
            offset += 16
        }
        return mask
    }

    private var outsidePathOfShortSpan: UInt64 {
        var mask: UInt64 = 0
        for index in indices where !ByteSet.path.contains(self[index]) {
            mask |= 1 &<< UInt64(truncatingIfNeeded: index)
        }
        return mask
    }
}
