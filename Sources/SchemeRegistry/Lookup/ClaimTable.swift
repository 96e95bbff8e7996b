/// The claims on each scheme, in so many parts that a copy which differs in few schemes shares most of them.
///
/// Whoever reads a registry keeps it as it is while the next one is made. Of one dictionary that would be a copy of all its
/// schemes for each change, and the end of one afterwards: some milliseconds for 100,000.
struct ClaimTable: Sendable {
    private static let partCount = 256

    private var parts = [[Scheme: SchemeClaims]](repeating: [:], count: partCount)

    /// Whether nobody claims anything.
    var isEmpty: Bool { parts.allSatisfy(\.isEmpty) }

    /// Makes room for so many schemes in all.
    mutating func reserveCapacity(_ count: Int) {
        guard count > Self.partCount else { return }
        for part in parts.indices { parts[part].reserveCapacity(count / Self.partCount * 9 / 8) }
    }

    private func part(of scheme: Scheme) -> Int {
        // What differs in many schemes is mostly the end. Parts of about the same size are all that this is for: each is a
        // dictionary, hashed against attacks.
        let hash = scheme.rawValue.utf8.withContiguousStorageIfAvailable { bytes in
            bytes.suffix(6).reduce(UInt32(bytes.count)) { ($0 ^ UInt32($1)) &* 0x9E37_79B1 }
        }
        return Int((hash ?? 0) >> 24) % Self.partCount
    }

    /// The claims on a scheme; nil if there are none.
    subscript(scheme: Scheme) -> SchemeClaims? {
        get { parts[part(of: scheme)][scheme] }
        set { parts[part(of: scheme)][scheme] = newValue }
    }

    /// Replaces the claims on a scheme.
    ///
    /// - Returns: the claims that there were.
    mutating func updateValue(_ claims: SchemeClaims, forKey scheme: Scheme) -> SchemeClaims? {
        parts[part(of: scheme)].updateValue(claims, forKey: scheme)
    }

    /// All schemes with their claims, in no order.
    var all: some Collection<(key: Scheme, value: SchemeClaims)> { parts.lazy.joined() }
}
