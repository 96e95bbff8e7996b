/// A set of ASCII bytes that answers membership with one shift.
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

    /// What a scheme is made of (RFC 1808 section 2.2).
    static let scheme = alphanumerics.with("+").with("-").with(".")

    /// What never needs an escape (RFC 3986 section 2.3), `~` among it (decision D6).
    static let unreserved = alphanumerics.with("-").with(".").with("_").with("~")

    /// `unreserved`, and the reserved bytes that separate nothing in a path.
    private static let plain =
        unreserved.with("!").with("$").with("&").with("'").with("(").with(")").with("*").with("+").with(",").with("=")

    /// What a name, a password or a host may hold as it is.
    static let networkLocation = plain.with(";")

    /// A password, which goes on after a further `:`.
    static let password = networkLocation.with(":")

    /// The first segment of a relative path, in which a colon would end a scheme.
    static let firstRelativeSegment = plain.with("@")

    /// A path segment without parameters (RFC 1808 section 2.2, `pchar`).
    static let segment = plain.with("@").with(":")

    /// A path, up to its parameters.
    static let path = segment.with("/")

    /// Parameters, which may hold `/` and further `;` (decision D9), and the opaque part of a URL.
    static let parameters = path.with(";")

    /// A query or a fragment.
    static let query = parameters.with("?")

    /// What may stand in the value of a query item: all of a query but the `&` between items and the `+` that others read
    /// as a space.
    static let queryValue = query.without("&").without("+")

    /// What may stand in the name of a query item.
    static let queryName = queryValue.without("=")
}
