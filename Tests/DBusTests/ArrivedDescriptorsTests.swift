import Testing

@testable import DBus

/// The descriptors that arrive before the rest of their message, without a connection.
@Suite struct ArrivedDescriptorsTests {
    @Test func arrivedDescriptorsCountTowardsTheirAccount() {
        var limits = ConnectionLimits()
        limits.descriptors = 16
        let accounts = CallAccounts(limits)
        var (first, second) = (ArrivedDescriptors(), ArrivedDescriptors())
        first.setAccount("program")
        second.setAccount("program")
        let half = first.update(to: 8, in: accounts)
        #expect(half && first.count == 8)
        // An account gets at most half of what is left.
        let more = second.update(to: 1, in: accounts)
        #expect(!more && second.count == 0)
        // While descriptors count towards an account, they stay there.
        first.setAccount("another")
        let fewer = first.update(to: 7, in: accounts)
        let one = second.update(to: 1, in: accounts)
        #expect(fewer && one)
    }
}
