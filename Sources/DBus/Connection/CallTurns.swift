internal import DequeModule
internal import HeapModule

/// The calls that have arrived and have not started, in the order in which they start.
///
/// The accounts take turns with one call each, so an account with many calls does not delay the calls of another account.
/// The calls of one account start in the order of their arrival. An account that is held gets no turns.
struct CallTurns {
    /// The numbers of the calls, which increase in the order of arrival.
    private var calls: [CallAccounts.Account: Heap<UInt64>] = [:]
    /// The accounts in the order of their turns. An account without calls loses its turn when the turn comes.
    private var order: Deque<CallAccounts.Account> = []
    private var held: Set<CallAccounts.Account> = []

    /// The number of calls that can start: those of accounts that are not held.
    private(set) var count = 0

    mutating func add(_ number: UInt64, of account: CallAccounts.Account) {
        add([number], of: account)
    }

    private mutating func add(_ numbers: [UInt64], of account: CallAccounts.Account) {
        let others = calls.count
        calls[account, default: Heap()].insert(contentsOf: numbers)
        if held.contains(account) { return }
        if calls.count > others { order.append(account) }
        count += numbers.count
    }

    /// Returns and removes the call whose turn it is.
    mutating func next() -> UInt64? {
        while let account = order.popFirst() {
            guard let place = calls.index(forKey: account), let number = calls.values[place].popMin() else { continue }
            count -= 1
            if calls.values[place].isEmpty { calls.remove(at: place) } else { order.append(account) }
            return number
        }
        return nil
    }

    /// Moves the calls of an account, which has no calls later, to another account.
    mutating func move(from old: CallAccounts.Account, to new: CallAccounts.Account) {
        guard let moved = calls.removeValue(forKey: old) else { return }
        if held.contains(old) { held.remove(old) } else { count -= moved.count }
        add(moved.unordered, of: new)
    }

    func isHeld(_ account: CallAccounts.Account) -> Bool { held.contains(account) }

    /// Makes the calls of an account wait for ``release(_:)``.
    mutating func hold(_ account: CallAccounts.Account) {
        guard held.insert(account).inserted else { return }
        order.removeAll { $0 == account }
        count -= calls[account]?.count ?? 0
    }

    mutating func release(_ account: CallAccounts.Account) {
        guard held.remove(account) != nil, let waiting = calls[account] else { return }
        order.append(account)
        count += waiting.count
    }

    /// Returns and removes all calls.
    mutating func removeAll() -> [UInt64] {
        defer { self = CallTurns() }
        return calls.values.flatMap(\.unordered)
    }
}
