/// The amounts of a limited resource that accounts hold.
///
/// An account gets at most half of what is left: its own amount is never more than the room that stays free. One account
/// therefore cannot use up the resource, and there is room for every further account.
///
/// dbus-broker's quota for another user is the same while that user is the only one. It then divides by the number of users
/// and one more, where this type always divides by two.
///
/// The methods are inlinable, because they run many times for each URL, and code that knows the type of the accounts is much faster.
public struct Shares<Account: Hashable & Sendable>: Sendable {
    /// The reason for which an account gets no more of a resource.
    public enum Refusal: Sendable, Hashable {
        /// All accounts together hold as much as there is.
        case isFull
        /// The account holds its share.
        case holdsItsShare
    }

    /// The amount that all accounts together may hold.
    public let limit: Int
    @usableFromInline var all = 0
    @usableFromInline var accounts: [Account: Int] = [:]

    /// Creates the shares of a resource that no account holds.
    @inlinable public init(limit: Int) {
        self.limit = limit
    }

    /// Whether no account holds anything.
    @inlinable public var isEmpty: Bool { accounts.isEmpty }

    /// The amount that all accounts hold together.
    @inlinable public var total: Int { all }

    /// The amount that an account holds.
    @inlinable public subscript(account: Account) -> Int { accounts[account, default: 0] }

    /// Returns whether an account and its amount satisfy a predicate.
    @inlinable public func contains(where predicate: (_ account: Account, _ amount: Int) -> Bool) -> Bool {
        accounts.contains { predicate($0.key, $0.value) }
    }

    /// Returns the reason for which an account cannot have more; nil if it can. Nothing can always be had.
    @inlinable public func refusal(of account: Account, _ amount: Int) -> Refusal? {
        guard amount > 0 else { return nil }
        let room = limit - all - amount
        if room < 0 { return .isFull }
        return self[account] + amount > room ? .holdsItsShare : nil
    }

    /// Counts an amount to an account, also above the limit.
    @inlinable public mutating func add(_ amount: Int, to account: Account) {
        guard amount > 0 else { return }
        all += amount
        accounts[account, default: 0] += amount
    }

    /// Gives back an amount that was counted to an account, at most the amount that the account holds.
    @inlinable public mutating func remove(_ amount: Int, from account: Account) {
        guard amount > 0, let index = accounts.index(forKey: account) else { return }
        let held = accounts.values[index]
        all -= min(amount, held)
        if amount < held { accounts.values[index] = held - amount } else { accounts.remove(at: index) }
    }
}
