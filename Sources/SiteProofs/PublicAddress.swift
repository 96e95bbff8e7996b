internal import Glibc

/// The addresses that a site may have: those of the public Internet.
///
/// A manifest may name any host, so a site must not lead to the services of this machine or of its network: a router, a
/// printer, the metadata of a cloud. The lists are IANA's registries of special-purpose addresses (RFC 6890).
enum PublicAddress {
    /// Returns whether a socket address is one of the public Internet.
    static func contains(_ address: UnsafeRawPointer, family: CInt, length: Int) -> Bool {
        switch family {
        case AF_INET:
            guard length >= MemoryLayout<sockaddr_in>.size else { return false }
            let value = address.loadUnaligned(as: sockaddr_in.self).sin_addr
            return contains(ipv4: withUnsafeBytes(of: value) { Array($0) })
        case AF_INET6:
            guard length >= MemoryLayout<sockaddr_in6>.size else { return false }
            let value = address.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return contains(ipv6: withUnsafeBytes(of: value) { Array($0) })
        default: return false
        }
    }

    private static let specialIPv4: [([UInt8], Int)] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
        ([192, 0, 2], 24), ([192, 88, 99], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24),
        ([203, 0, 113], 24), ([224], 3),
    ]

    static func contains(ipv4 address: [UInt8]) -> Bool {
        !specialIPv4.contains { isBelow(address, $0.0, $0.1) }
    }

    private static let specialIPv6: [([UInt8], Int)] = [
        ([0x20, 0x01, 0x00], 23), ([0x20, 0x01, 0x0D, 0xB8], 32), ([0x20, 0x02], 16), ([0x3F, 0xFF, 0x00], 20),
    ]

    static func contains(ipv6 address: [UInt8]) -> Bool {
        // A network without IPv4 translates addresses of IPv4 (RFC 6052).
        if isBelow(address, [0x00, 0x64, 0xFF, 0x9B], 96) { return contains(ipv4: Array(address.suffix(4))) }
        guard isBelow(address, [0x20], 3) else { return false }
        return !specialIPv6.contains { isBelow(address, $0.0, $0.1) }
    }

    /// Returns whether an address has the first bits of another one, whose missing bytes are zero.
    private static func isBelow(_ address: [UInt8], _ prefix: [UInt8], _ bits: Int) -> Bool {
        for index in 0..<(bits + 7) / 8 {
            let left = min(8, bits - index * 8)
            let mask = left == 8 ? 0xFF : ~(UInt8(0xFF) >> UInt8(left))
            let expected = index < prefix.count ? prefix[index] : 0
            guard index < address.count, (address[index] ^ expected) & mask == 0 else { return false }
        }
        return true
    }
}
