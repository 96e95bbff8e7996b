internal import DequeModule
internal import HeapModule

/// The calls that have arrived but not started, in the order in which they will start.
///
/// Accounts take turns with one call each, so an account with many calls does not delay the others. Within an account,
/// calls start in the order of their arrival. An account on hold gets no turns.
struct CallTurns {
    /// Numbers of the calls, which increase in the order of arrival.
    private var calls: [CallAccounts.Account: Heap<UInt64>] = [:]
    /// Accounts in the order of their turns. If an account has no calls left when its turn comes, it loses the turn.
    private var order: Deque<CallAccounts.Account> = []
    private var holds: [CallAccounts.Account: Hold] = [:]
    private var paces: [CallAccounts.Account: Pace] = [:]

    /// Number of calls that can start, excluding those from accounts on hold.
    private(set) var count = 0

    /// Why an account's calls are waiting.
    struct Hold: OptionSet {
        let rawValue: UInt8

        /// The account's programs do not read their answers.
        static let unread = Hold(rawValue: 1)
        /// It has started all its calls for this period.
        static let pace = Hold(rawValue: 2)
    }

    mutating func add(_ number: UInt64, of account: CallAccounts.Account) {
        add([number], of: account)
    }

    private mutating func add(_ numbers: [UInt64], of account: CallAccounts.Account) {
        let others = calls.count
        calls[account, default: Heap()].insert(contentsOf: numbers)
        if holds[account] != nil { return }
        if calls.count > others { order.append(account) }
        count += numbers.count
    }

    /// Removes the call whose turn it is, and returns it.
    mutating func next() -> UInt64? {
        while let account = order.popFirst() {
            guard let place = calls.index(forKey: account), let number = calls.values[place].popMin() else { continue }
            count -= 1
            if calls.values[place].isEmpty { calls.remove(at: place) } else { order.append(account) }
            return number
        }
        return nil
    }

    /// Moves those of the given calls that wait in an account to another account. The other calls stay where they are,
    /// and so does a hold.
    mutating func move(_ numbers: Set<UInt64>, from old: CallAccounts.Account, to new: CallAccounts.Account) {
        guard var waiting = calls[old]?.unordered else { return }
        let firstMoved = waiting.partition { numbers.contains($0) }
        let moved = Array(waiting[firstMoved...])
        guard !moved.isEmpty else { return }
        calls[old] = firstMoved == 0 ? nil : Heap(waiting[..<firstMoved])
        if holds[old] == nil { count -= moved.count }
        add(moved, of: new)
    }

    /// Number of all calls, including those from accounts on hold.
    var allCount: Int { calls.values.reduce(0) { $0 + $1.count } }

    /// Number of calls from accounts whose programs do not read their answers.
    var unreadCount: Int { calls.reduce(0) { isHeld($1.key, for: .unread) ? $0 + $1.value.count : $0 } }

    func isHeld(_ account: CallAccounts.Account, for reason: Hold) -> Bool { holds[account]?.contains(reason) == true }

    /// Makes an account's calls wait for ``release(_:from:)``.
    mutating func hold(_ account: CallAccounts.Account, for reason: Hold) {
        guard holds[account] == nil else {
            holds[account]?.insert(reason)
            return
        }
        holds[account] = reason
        order.removeAll { $0 == account }
        count -= calls[account]?.count ?? 0
    }

    mutating func release(_ account: CallAccounts.Account, from reason: Hold) {
        guard let hold = holds[account] else { return }
        let rest = hold.subtracting(reason)
        holds[account] = rest.isEmpty ? nil : rest
        guard rest.isEmpty, let waiting = calls[account] else { return }
        order.append(account)
        count += waiting.count
    }

    // MARK: Pace

    /// The number of calls that an account has started in its period.
    private struct Pace {
        var end: ContinuousClock.Instant
        var calls = 0
    }

    /// If there are more paces than this, those whose period has ended are forgotten, unless their account is still on
    /// hold.
    private static let keptPaces = 64

    /// Records the start of a call from an account. If the account may start no more calls in this period, it is put on
    /// hold.
    ///
    /// - Returns: The end of the period if the account is on hold until then.
    mutating func countStart(
        of account: CallAccounts.Account,
        limit: Int,
        period: Duration,
        now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant? {
        if paces[account] == nil, paces.count >= Self.keptPaces {
            paces = paces.filter { $0.value.end > now || isHeld($0.key, for: .pace) }
        }
        var pace = paces[account, default: Pace(end: now + period)]
        if pace.end <= now { pace = Pace(end: now + period) }
        pace.calls += 1
        paces[account] = pace
        guard pace.calls >= limit else { return nil }
        hold(account, for: .pace)
        return pace.end
    }

    /// Number of accounts whose pace is tracked.
    var paceCount: Int { paces.count }

    /// Ends the hold on all accounts whose period has ended.
    ///
    /// - Returns: The end of the next period for which an account is on hold; nil if there is none.
    mutating func endPaces(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var next: ContinuousClock.Instant?
        for (account, pace) in paces where isHeld(account, for: .pace) {
            if pace.end <= now { release(account, from: .pace) } else { next = min(next ?? pace.end, pace.end) }
        }
        return next
    }

    /// Removes all calls, and returns them.
    mutating func removeAll() -> [UInt64] {
        defer { self = CallTurns() }
        return calls.values.flatMap(\.unordered)
    }
}
