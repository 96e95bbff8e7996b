/// The resources that each account's calls and answers use, on one connection or on several connections on the same
/// loop.
///
/// It is unchecked `Sendable` because only the connections use it, on their loop's thread.
final class CallAccounts: @unchecked Sendable {
    /// The owner of a resource: an account, or a connection whose account is not known yet.
    struct Account: Hashable {
        private enum Owner: Hashable {
            case sender(BusName?)
            case named(String)
        }

        private let owner: Owner
        /// The owner's hash, kept because the tables look an account up ten times for each call, and hashing a string
        /// takes longer than the rest of the work.
        private let hash: Int

        private init(_ owner: Owner) {
            self.owner = owner
            hash = owner.hashValue
        }

        /// A sender's own account. Without a bus, the other end is the only sender, and its name is nil.
        static func sender(_ name: BusName?) -> Account { Account(.sender(name)) }
        /// An account that the program has named.
        static func named(_ name: String) -> Account { Account(.named(name)) }

        static func == (a: Account, b: Account) -> Bool { a.hash == b.hash && a.owner == b.owner }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    private var loads: LoadShares<Account>
    /// Calls that are waiting for an error.
    private var refused: Shares<Account>
    /// Bytes that wait in this program for accounts that do not read them, on connections without a bus.
    private(set) var waiting: Shares<Account>
    /// Descriptors that have arrived without the rest of their message.
    private var arrived: Shares<Account>

    init(_ limits: ConnectionLimits) {
        loads = LoadShares(
            limit: CallLoad(calls: limits.calls, bytes: limits.argumentBytes, descriptors: limits.descriptors)
        )
        // One account gets half.
        refused = Shares(limit: 8 * limits.calls)
        waiting = Shares(limit: limits.unreadAnswerBytes)
        arrived = Shares(limit: limits.descriptors)
    }

    var isEmpty: Bool { loads.isEmpty && refused.isEmpty }

    /// Counts one more call from an account.
    ///
    /// - Returns: A message about the first limit that the call would exceed; nil if it was counted.
    func take(_ load: CallLoad, for account: Account) -> String? {
        guard let excess = loads.take(load, for: account) else { return nil }
        let owner = excess.refusal == .isFull ? "" : " of this program"
        return switch excess.resource {
        case .calls: "too many calls\(owner) are waiting for an answer"
        case .bytes: "the arguments of calls\(owner) that wait for an answer are too large"
        case .descriptors: "calls\(owner) that wait for an answer hold too many descriptors"
        }
    }

    /// Adds a call that is waiting for an error.
    ///
    /// - Returns: False if too many such calls are waiting. In that case, the call is not added.
    func addRefused(to account: Account) -> Bool {
        guard refused.refusal(of: account, 1) == nil else { return false }
        countRefused(to: account)
        return true
    }

    func countRefused(to account: Account) {
        refused.add(1, to: account)
    }

    func removeRefused(from account: Account) {
        refused.remove(1, from: account)
    }

    /// Counts the bytes that wait for an account on one of its connections, in place of an earlier number.
    func countWaiting(_ bytes: Int, instead earlier: Int, of account: Account) {
        waiting.remove(earlier, from: account)
        waiting.add(bytes, to: account)
    }

    /// Whether more bytes wait for an account than remain free for the others.
    func leavesTooMuch(_ account: Account) -> Bool {
        waiting[account] > max(waiting.limit - waiting.total, IncomingCalls.fewBytes)
    }

    /// Counts descriptors that have arrived without the rest of their message, in place of an earlier number.
    ///
    /// - Returns: False if they are too many. In that case, none of them are counted.
    func countArrived(_ descriptors: Int, instead earlier: Int, of account: Account) -> Bool {
        arrived.remove(earlier, from: account)
        return arrived.take(descriptors, for: account) == nil
    }

    func add(_ load: CallLoad, to account: Account) {
        loads.add(load, to: account)
    }

    func remove(_ load: CallLoad, from account: Account) {
        loads.remove(load, from: account)
    }
}
