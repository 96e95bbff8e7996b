/// The resources that unanswered calls use.
struct Load {
    var calls = 1
    var bytes: Int
    var descriptors: Int
}

/// The resources that each account's calls use, on one connection or on several connections on the same loop.
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

    private var calls: Shares<Account>
    private var bytes: Shares<Account>
    private var descriptors: Shares<Account>
    /// Calls that are waiting for an error.
    private var refused: Shares<Account>

    init(_ limits: ConnectionLimits) {
        calls = Shares(limit: limits.calls)
        bytes = Shares(limit: limits.argumentBytes)
        descriptors = Shares(limit: limits.descriptors)
        // One account gets half.
        refused = Shares(limit: 8 * limits.calls)
    }

    var isEmpty: Bool { calls.isEmpty && bytes.isEmpty && descriptors.isEmpty && refused.isEmpty }

    /// Returns a message about the first limit that one more call from an account would exceed; nil if it would exceed
    /// none.
    func excess(of account: Account, _ load: Load) -> String? {
        if let refusal = calls.refusal(of: account, load.calls) {
            return "too many calls\(refusal.owner) are waiting for an answer"
        }
        if let refusal = bytes.refusal(of: account, load.bytes) {
            return "the arguments of calls\(refusal.owner) that wait for an answer are too large"
        }
        return descriptors.refusal(of: account, load.descriptors).map {
            "calls\($0.owner) that wait for an answer hold too many descriptors"
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

    func add(_ load: Load, to account: Account) {
        calls.add(load.calls, to: account)
        bytes.add(load.bytes, to: account)
        descriptors.add(load.descriptors, to: account)
    }

    func remove(_ load: Load, from account: Account) {
        calls.remove(load.calls, from: account)
        bytes.remove(load.bytes, from: account)
        descriptors.remove(load.descriptors, from: account)
    }
}

extension Shares.Refusal {
    /// Says whose calls a message about the limit refers to.
    fileprivate var owner: String { self == .isFull ? "" : " of this program" }
}
