/// A set of ASCII bytes whose membership test needs only one shift.
struct ByteSet: Sendable {
    let low: UInt64
    let high: UInt64

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let half = byte < 64 ? low : high
        return byte < 128 && (half &>> UInt64(byte & 63)) & 1 == 1
    }

    @inline(__always)
    private func with(_ scalar: Unicode.Scalar) -> ByteSet {
        let bit: UInt64 = 1 &<< UInt64(scalar.value & 63)
        return scalar.value < 64 ? ByteSet(low: low | bit, high: high) : ByteSet(low: low, high: high | bit)
    }

    private func without(_ scalar: Unicode.Scalar) -> ByteSet {
        let bit = ByteSet(low: 0, high: 0).with(scalar)
        return ByteSet(low: low & ~bit.low, high: high & ~bit.high)
    }

    /// `0-9`, `A-Z`, `a-z`.
    private static let alphanumerics = ByteSet(low: 0x03FF_0000_0000_0000, high: 0x07FF_FFFE_07FF_FFFE)

    static let hexDigits = ByteSet(low: 0x03FF_0000_0000_0000, high: 0x0000_007E_0000_007E)

    /// Bytes of a scheme (RFC 1808 section 2.2).
    static let scheme = alphanumerics.with("+").with("-").with(".")

    /// Bytes that never need an escape (RFC 3986 section 2.3), including `~` (decision D6).
    static let unreserved = alphanumerics.with("-").with(".").with("_").with("~")

    /// The bytes of `unreserved`, and the reserved bytes that do not separate anything in a path.
    private static let plain =
        unreserved.with("!").with("$").with("&").with("'").with("(").with(")").with("*").with("+").with(",").with("=")

    /// Bytes that a user name, a password or a host may contain without an escape.
    static let networkLocation = plain.with(";")

    /// Bytes of a password. Any further `:` is part of it.
    static let password = networkLocation.with(":")

    /// Bytes of a relative path's first segment, where a colon would end a scheme.
    static let firstRelativeSegment = plain.with("@")

    /// Bytes of a path segment without parameters (RFC 1808 section 2.2, `pchar`).
    static let segment = plain.with("@").with(":")

    /// Bytes of a path without parameters.
    static let path = segment.with("/")

    /// Bytes of parameters, which may contain `/` and further `;` (decision D9), and of an opaque part.
    static let parameters = path.with(";")

    /// Bytes of a query or a fragment.
    static let query = parameters.with("?")

    /// Bytes of a query item's value: those of a query, except for the `&`, which separates items, and the `+`, which
    /// other programs read as a space.
    static let queryValue = query.without("&").without("+")

    /// Bytes of a query item's name.
    static let queryName = queryValue.without("=")
}
