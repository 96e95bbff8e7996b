/// The claims on each scheme, in parts, so that two similar copies of the table share most of their memory.
///
/// Readers keep their registry while the next one is created. A single dictionary would be copied as a whole at each
/// change and freed later, which takes a few milliseconds for 100,000 schemes.
struct ClaimTable: Sendable {
    private static let partCount = 256

    private var parts = [[Scheme: SchemeClaims]](repeating: [:], count: partCount)

    /// Whether there are no claims.
    var isEmpty: Bool { parts.allSatisfy(\.isEmpty) }

    /// Reserves capacity for this many schemes in all.
    mutating func reserveCapacity(_ count: Int) {
        guard count > Self.partCount else { return }
        // Parts are only roughly equal in size, so give each an eighth more than the average.
        for part in parts.indices { parts[part].reserveCapacity(count / Self.partCount * 9 / 8) }
    }

    private func part(of scheme: Scheme) -> Int {
        // Similar schemes mostly differ at the end, so let the last bytes choose the part. A simple hash is enough to
        // make the parts roughly equal, because each part is a dictionary, whose own hash resists attacks.
        let hash = unsafe scheme.rawValue.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe bytes.suffix(6).reduce(UInt32(bytes.count)) { ($0 ^ UInt32($1)) &* 0x9E37_79B1 }
        }
        return Int((hash ?? 0) >> 24) % Self.partCount
    }

    /// The claims on a scheme; nil if there are no claims.
    subscript(scheme: Scheme) -> SchemeClaims? {
        get { parts[part(of: scheme)][scheme] }
        set { parts[part(of: scheme)][scheme] = newValue }
    }

    /// Replaces the claims on a scheme.
    ///
    /// - Returns: the previous claims; nil if there were none.
    mutating func updateValue(_ claims: SchemeClaims, forKey scheme: Scheme) -> SchemeClaims? {
        parts[part(of: scheme)].updateValue(claims, forKey: scheme)
    }

    /// All schemes with their claims, in no particular order.
    var all: some Collection<(key: Scheme, value: SchemeClaims)> { parts.lazy.joined() }
}
