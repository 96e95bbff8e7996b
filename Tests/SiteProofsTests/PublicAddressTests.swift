import Glibc
import Testing

@testable import SiteProofs

/// The addresses that a site may have.
struct PublicAddressTests {
    private func isPublic(_ text: String) -> Bool {
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        if inet_pton(AF_INET, text, &four.sin_addr) == 1 {
            return PublicAddress.contains(&four, family: AF_INET, length: MemoryLayout<sockaddr_in>.size)
        }
        var six = sockaddr_in6()
        six.sin6_family = sa_family_t(AF_INET6)
        #expect(inet_pton(AF_INET6, text, &six.sin6_addr) == 1, "\(text)")
        return PublicAddress.contains(&six, family: AF_INET6, length: MemoryLayout<sockaddr_in6>.size)
    }

    @Test(arguments: [
        "1.1.1.1", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0", "172.15.255.255",
        "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
        "2606:4700::1", "2a00:1450::1", "2001:200::1", "64:ff9b::101:101",
    ])
    func addressIsPublic(_ address: String) { #expect(isPublic(address)) }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.0.1",
        "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1",
        "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "::",
        "::1", "::ffff:127.0.0.1", "::ffff:1.1.1.1", "::127.0.0.1", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1",
        "2001::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
        "100::1", "5f00::1",
    ])
    func addressIsNotPublic(_ address: String) { #expect(!isPublic(address)) }

    @Test func otherFamiliesAreNotPublic() {
        var address = sockaddr_in()
        #expect(!PublicAddress.contains(&address, family: AF_UNIX, length: MemoryLayout<sockaddr_in>.size))
        #expect(!PublicAddress.contains(&address, family: AF_INET, length: 4))
    }
}
