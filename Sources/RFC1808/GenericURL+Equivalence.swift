extension GenericURL {
    /// Returns whether both URLs mean the same, even if they differ in upper and lower case.
    ///
    /// Case does not matter in the scheme and the host (RFC 1808 section 2.1, RFC 1738 section 3.1), nor in the digits
    /// of an escape (RFC 1738 section 2.2). All other differences count: `%41` is not equivalent to `A`, and a default
    /// port is not equivalent to an absent one. Because the zone of an IPv6 address is part of the host, its case is
    /// ignored too, although an operating system may distinguish interface names by case.
    ///
    /// Two equivalent URLs need not be equal, and need not have the same hash value: a set or a dictionary keeps both.
    public func isEquivalent(to other: GenericURL) -> Bool {
        let a = string.utf8.span
        let b = other.string.utf8.span
        guard a.count == b.count else { return false }
        // One layout is enough: if two URLs differ only in the case of letters, they have the same one.
        let host = layout.host ?? 0..<0
        var caselessEnd = layout.schemeEnd
        for index in a.indices {
            if index == host.lowerBound { caselessEnd = max(caselessEnd, host.upperBound) }
            if a[index] == UInt8(ascii: "%") { caselessEnd = max(caselessEnd, index + 3) }
            guard a[index] == b[index] || index < caselessEnd && a[index].isSameLetter(as: b[index]) else {
                return false
            }
        }
        return true
    }
}

extension UInt8 {
    fileprivate func isSameLetter(as other: UInt8) -> Bool {
        isLetter && self | 0x20 == other | 0x20
    }
}
