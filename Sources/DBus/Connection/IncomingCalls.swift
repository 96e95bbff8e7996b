/// The calls of other programs: those that wait for their start, and those that have started and have no answer yet.
///
/// A call is counted for the limits until its answer. A call above the limits waits for its turn, too, and is then answered with
/// an error: errors without a limit would delay the answers to other programs.
struct IncomingCalls {
    private struct Call {
        /// The resources that are counted for the call; nil for a call that is refused.
        let load: Load?
        let sender: BusName?
        let descriptors: [ReceivedDescriptor]
        /// Starts or refuses the call; nil when the call has started.
        var start: (@Sendable () -> Task<Void, Never>?)?
        var task: Task<Void, Never>?
    }

    /// A sender that has called and is on the bus, or has left calls that have not started.
    private struct Sender {
        var account: CallAccounts.Account
        /// The numbers of its calls: those without an answer, and after its end those that have not started.
        var calls: Set<UInt64> = []
        var hasLeft = false
    }

    private var calls: [UInt64: Call] = [:]
    private var senders: [BusName?: Sender] = [:]
    private(set) var accounts: CallAccounts
    private var turns = CallTurns()
    private var refused = 0
    private let refusedLimit: Int
    private var lastNumber: UInt64 = 0

    init(_ limits: ConnectionLimits) {
        accounts = CallAccounts(limits)
        refusedLimit = 4 * limits.calls
    }

    var isIdle: Bool { calls.isEmpty }

    /// The number of calls that wait for their start.
    var waiting: Int { turns.count }

    // MARK: Beginning

    /// Counts a call, which then waits for ``startNext()``.
    ///
    /// - Parameter start: Starts the call of this number.
    /// - Returns: The error for a call that exceeds a limit, and is not counted; otherwise nil.
    mutating func add(
        _ load: Load,
        of sender: BusName?,
        _ descriptors: [ReceivedDescriptor],
        _ start: @escaping @Sendable (UInt64) -> Task<Void, Never>
    ) -> RemoteError? {
        let account = account(of: sender)
        if let excess = accounts.excess(of: account, load) { return RemoteError(.limitsExceeded, excess) }
        accounts.add(load, to: account)
        let number = lastNumber + 1
        insert(Call(load: load, sender: sender, descriptors: descriptors) { start(number) }, account)
        return nil
    }

    /// Makes a call wait for ``startNext()``, which answers the call at once.
    ///
    /// - Returns: False if too many such calls wait. The call then gets no answer.
    mutating func addRefused(of sender: BusName?, _ answer: @escaping @Sendable () -> Void) -> Bool {
        guard refused < refusedLimit else { return false }
        refused += 1
        let call = Call(load: nil, sender: sender, descriptors: []) {
            answer()
            return nil
        }
        insert(call, account(of: sender))
        return true
    }

    private func account(of sender: BusName?) -> CallAccounts.Account {
        senders[sender]?.account ?? .sender(sender)
    }

    private mutating func insert(_ call: Call, _ account: CallAccounts.Account) {
        lastNumber += 1
        calls[lastNumber] = call
        senders[call.sender, default: Sender(account: account)].calls.insert(lastNumber)
        turns.add(lastNumber, of: account)
    }

    /// Starts or refuses the call whose turn it is.
    mutating func startNext() {
        while let number = turns.next() {
            guard var call = calls[number], let start = call.start else { continue }
            // A sender that has left waits for no error.
            if call.load == nil, senders[call.sender]?.hasLeft == true {
                end(number)
                continue
            }
            call.start = nil
            call.task = start()
            if call.task == nil { return end(number) }
            calls[number] = call
            if senders[call.sender]?.hasLeft == true { discount(number, call) }
            return
        }
    }

    // MARK: The end

    mutating func end(_ number: UInt64) {
        guard let call = calls.removeValue(forKey: number) else { return }
        discount(number, call)
        if calls.isEmpty, calls.capacity > Self.keptCapacity { calls = [:] }
    }

    /// The number of calls for which the memory is kept after a burst.
    private static let keptCapacity = 4096

    /// Gives back what a call uses. Nothing is counted for a started call of a sender that has left.
    private mutating func discount(_ number: UInt64, _ call: Call) {
        if call.load == nil { refused -= 1 }
        guard var sender = senders[call.sender], sender.calls.remove(number) != nil else { return }
        if let load = call.load { accounts.remove(load, from: sender.account) }
        senders[call.sender] = sender.hasLeft && sender.calls.isEmpty ? nil : sender
    }

    /// Counts the calls of a sender to an account from now on. A sender that has not called, or has left, is ignored.
    mutating func setAccount(_ account: String, of name: BusName) {
        guard let sender = senders[name], !sender.hasLeft, sender.account != .named(account) else { return }
        senders[name]?.account = .named(account)
        turns.move(from: sender.account, to: .named(account))
        for load in sender.calls.compactMap({ calls[$0]?.load }) {
            accounts.remove(load, from: sender.account)
            accounts.add(load, to: .named(account))
        }
    }

    /// Gives back everything that is counted for the started calls of a sender, which has left the bus. All its calls continue.
    ///
    /// A call that has not started, or that waits for an error, is counted until its turn. A program that calls and leaves again and again could
    /// otherwise fill the memory.
    mutating func leave(_ name: BusName) {
        guard let sender = senders[name] else { return }
        senders[name]?.hasLeft = true
        for number in sender.calls {
            guard let call = calls[number] else { continue }
            // The descriptors of a call that has not started are still counted, and its method may want to keep them.
            if call.start == nil { for received in call.descriptors { received.descriptor?.closeNow() } }
            if call.start == nil { discount(number, call) }
        }
        if sender.calls.isEmpty { senders[name] = nil }
    }

    /// Cancels a call that has started.
    func cancel(_ number: UInt64) {
        calls[number]?.task?.cancel()
    }

    /// Cancels the calls that have started, and drops the others.
    mutating func cancelAll() {
        for number in turns.removeAll() { end(number) }
        for call in calls.values { call.task?.cancel() }
    }
}

/// A descriptor in the arguments of a call, which the method keeps as long as it needs the descriptor.
struct ReceivedDescriptor {
    weak var descriptor: UnixFD?
}
