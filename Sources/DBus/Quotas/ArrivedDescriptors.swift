/// Descriptors that have arrived on a connection without a bus, before the rest of their message.
struct ArrivedDescriptors {
    /// Number of descriptors that are counted towards the account.
    private(set) var count = 0
    private var account = CallAccounts.Account.sender(nil)

    /// Counts descriptors in place of the earlier number.
    ///
    /// - Returns: False if they are too many. In that case, none of them are counted.
    @discardableResult
    mutating func update(to descriptors: Int, in accounts: CallAccounts) -> Bool {
        guard descriptors != count else { return true }
        let isCounted = accounts.countArrived(descriptors, instead: count, of: account)
        count = isCounted ? descriptors : 0
        return isCounted
    }

    /// From now on, counts descriptors towards an account that the program has named, unless some are already counted.
    mutating func setAccount(_ account: String) {
        if count == 0 { self.account = .named(account) }
    }
}
