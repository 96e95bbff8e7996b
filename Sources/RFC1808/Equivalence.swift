extension GenericURL {
    /// Whether both mean the same although they may be written with different cases: those of the scheme and the host
    /// do not matter (RFC 1808 section 2.1, RFC 1738 section 3.1), nor do those of the digits of an escape (RFC 1738
    /// section 2.2).
    ///
    /// Nothing else is overlooked: `%41` is not `A`, and a default port is not an absent one. A zone is part of its host, so
    /// its case does not matter here, although it does to systems that name interfaces.
    ///
    /// Equivalent URLs are not equal and have no common key: a set or dictionary keeps both.
    public func isEquivalent(to other: GenericURL) -> Bool {
        let a = string.utf8.span
        let b = other.string.utf8.span
        guard a.count == b.count else { return false }
        // Two URLs that differ in nothing but the case of letters have the same layout.
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
