/// The resources that unanswered calls use.
public struct CallLoad: Sendable, Hashable {
    /// Number of calls.
    public var calls: Int
    /// Size of their arguments, in bytes.
    public var bytes: Int
    /// Number of descriptors in their arguments.
    public var descriptors: Int

    /// Creates a load, by default of a single call.
    public init(calls: Int = 1, bytes: Int, descriptors: Int) {
        self.calls = calls
        self.bytes = bytes
        self.descriptors = descriptors
    }

    /// The load of no call.
    @usableFromInline static let none = CallLoad(calls: 0, bytes: 0, descriptors: 0)

    /// Whether each amount is at least as large as that of another load.
    @inlinable func holds(_ other: CallLoad) -> Bool {
        calls >= other.calls && bytes >= other.bytes && descriptors >= other.descriptors
    }

    @inlinable static func += (a: inout CallLoad, b: CallLoad) {
        a.calls += b.calls
        a.bytes += b.bytes
        a.descriptors += b.descriptors
    }

    @inlinable static func -= (a: inout CallLoad, b: CallLoad) {
        a.calls -= b.calls
        a.bytes -= b.bytes
        a.descriptors -= b.descriptors
    }
}

/// Shares of the resources that unanswered calls use, by account. Each resource follows the rule of ``Shares``.
///
/// One look-up of the account serves all resources, because this happens for each call and each URL. The methods are
/// inlinable for the same reason as those of ``Shares``.
public struct LoadShares<Account: Hashable & Sendable>: Sendable {
    /// The first limit that one more load would exceed.
    public struct Excess: Sendable, Hashable {
        /// The resource that the limit applies to.
        public let resource: Resource
        /// Why the account gets no more of it.
        public let refusal: Shares<Account>.Refusal

        @usableFromInline init(resource: Resource, refusal: Shares<Account>.Refusal) {
            self.resource = resource
            self.refusal = refusal
        }
    }

    /// A resource with a limit.
    public enum Resource: Sendable, Hashable {
        /// Calls that wait for an answer.
        case calls
        /// Bytes in the arguments.
        case bytes
        /// Descriptors in the arguments.
        case descriptors
    }

    /// The load that all accounts together may hold.
    public let limit: CallLoad
    @usableFromInline var all = CallLoad.none
    @usableFromInline var accounts: [Account: CallLoad] = [:]

    /// Creates the shares of resources that are still unused.
    @inlinable public init(limit: CallLoad) {
        self.limit = limit
    }

    /// Whether no account holds anything.
    @inlinable public var isEmpty: Bool { accounts.isEmpty }

    /// The load that all accounts hold together.
    @inlinable public var total: CallLoad { all }

    /// The load that an account holds.
    @inlinable public subscript(account: Account) -> CallLoad { accounts[account] ?? .none }

    /// Adds a load to an account's share, unless that would exceed a limit.
    ///
    /// - Returns: The limit that it would exceed; nil if the load was added.
    @inlinable public mutating func take(_ load: CallLoad, for account: Account) -> Excess? {
        guard let place = accounts.index(forKey: account) else {
            if let excess = excess(of: .none, load) { return excess }
            accounts[account] = load
            all += load
            return nil
        }
        if let excess = excess(of: accounts.values[place], load) { return excess }
        accounts.values[place] += load
        all += load
        return nil
    }

    /// Adds a load to an account's share, even above the limits.
    @inlinable public mutating func add(_ load: CallLoad, to account: Account) {
        accounts[account, default: .none] += load
        all += load
    }

    /// Takes back a load that was added to an account.
    @inlinable public mutating func remove(_ load: CallLoad, from account: Account) {
        guard let place = accounts.index(forKey: account) else { return }
        assert(accounts.values[place].holds(load), "an account gives back more than it holds")
        all -= load
        accounts.values[place] -= load
        if accounts.values[place] == .none { accounts.remove(at: place) }
    }

    @inlinable func excess(of held: CallLoad, _ load: CallLoad) -> Excess? {
        if let refusal = refusal(limit.calls, total.calls, held.calls, load.calls) {
            return Excess(resource: .calls, refusal: refusal)
        }
        if let refusal = refusal(limit.bytes, total.bytes, held.bytes, load.bytes) {
            return Excess(resource: .bytes, refusal: refusal)
        }
        return refusal(limit.descriptors, total.descriptors, held.descriptors, load.descriptors).map {
            Excess(resource: .descriptors, refusal: $0)
        }
    }

    @inlinable func refusal(_ limit: Int, _ total: Int, _ held: Int, _ amount: Int) -> Shares<Account>.Refusal? {
        guard amount > 0 else { return nil }
        let room = limit - total - amount
        if room < 0 { return .isFull }
        return held + amount > room ? .holdsItsShare : nil
    }
}
