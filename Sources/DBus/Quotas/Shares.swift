/// Shares of a limited resource, by account.
///
/// An account gets at most half of what is left: its own amount is never more than the amount that stays free. So one
/// account cannot use up the resource, and there is room for every further one.
///
/// If only one other user holds anything, dbus-broker's quota is the same. With more users, dbus-broker divides by
/// their number plus one, while this type always divides by two.
///
/// Its methods are inlinable, because they run many times for each URL, and are much faster when the compiler knows the
/// type of the accounts.
public struct Shares<Account: Hashable & Sendable>: Sendable {
    /// Why an account gets no more of a resource.
    public enum Refusal: Sendable, Hashable {
        /// Together, all accounts hold everything there is.
        case isFull
        /// The account already holds its share.
        case holdsItsShare
    }

    /// The amount that all accounts together may hold.
    public let limit: Int
    @usableFromInline var all = 0
    @usableFromInline var accounts: [Account: Int] = [:]

    /// Creates the shares of a resource that is still unused.
    @inlinable public init(limit: Int) {
        self.limit = limit
    }

    /// Whether no account holds anything.
    @inlinable public var isEmpty: Bool { accounts.isEmpty }

    /// The amount that all accounts hold together.
    @inlinable public var total: Int { all }

    /// The amount that an account holds.
    @inlinable public subscript(account: Account) -> Int { accounts[account, default: 0] }

    /// Returns whether any account and its amount satisfy a predicate.
    @inlinable public func contains(where predicate: (_ account: Account, _ amount: Int) -> Bool) -> Bool {
        accounts.contains { predicate($0.key, $0.value) }
    }

    /// Returns the reason why an account cannot have more; nil if it can. An amount of zero is always possible.
    @inlinable public func refusal(of account: Account, _ amount: Int) -> Refusal? {
        guard amount > 0 else { return nil }
        let room = limit - all - amount
        if room < 0 { return .isFull }
        return self[account] + amount > room ? .holdsItsShare : nil
    }

    /// Adds an amount to an account's share, unless that would exceed the limit.
    ///
    /// - Returns: The reason why the account cannot have more; nil if the amount was added.
    @inlinable public mutating func take(_ amount: Int, for account: Account) -> Refusal? {
        guard amount > 0 else { return nil }
        let room = limit - all - amount
        if room < 0 { return .isFull }
        let index = accounts.index(forKey: account)
        let held = index.map { accounts.values[$0] } ?? 0
        if held + amount > room { return .holdsItsShare }
        if let index { accounts.values[index] += amount } else { accounts[account] = amount }
        all += amount
        return nil
    }

    /// Adds an amount to an account's share, even above the limit.
    @inlinable public mutating func add(_ amount: Int, to account: Account) {
        guard amount > 0 else { return }
        all += amount
        accounts[account, default: 0] += amount
    }

    /// Takes an amount back from an account, but no more than the account holds.
    @inlinable public mutating func remove(_ amount: Int, from account: Account) {
        guard amount > 0, let index = accounts.index(forKey: account) else { return }
        let held = accounts.values[index]
        all -= min(amount, held)
        if amount < held { accounts.values[index] = held - amount } else { accounts.remove(at: index) }
    }
}
