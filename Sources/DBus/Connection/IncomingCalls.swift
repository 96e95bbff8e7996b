/// Calls from other programs that are waiting to start, or have started and have no answer yet.
///
/// Each counts towards the limits until it is answered. A call above the limits waits for its turn too, and is then
/// answered with an error: an unlimited number of errors would delay the answers to other programs.
struct IncomingCalls {
    private final class Call {
        /// Resources that the call uses; nil if it is refused.
        let load: CallLoad?
        let sender: Sender
        let descriptors: [ReceivedDescriptor]
        var beginning: Beginning

        init(_ load: CallLoad?, of sender: Sender, _ descriptors: [ReceivedDescriptor], _ beginning: Beginning) {
            self.load = load
            self.sender = sender
            self.descriptors = descriptors
            self.beginning = beginning
        }
    }

    private enum Beginning {
        /// Starts the call.
        case start(@Sendable () -> Task<Void, Never>?)
        /// Answers the call with an error.
        case refuse(@Sendable () -> Void)
        /// The call's task, if the call has one.
        case started(Task<Void, Never>?)

        var hasStarted: Bool { if case .started = self { true } else { false } }
        var task: Task<Void, Never>? { if case .started(let task) = self { task } else { nil } }
    }

    /// A sender that has made calls and is on the bus, or that has left the bus and has calls that still count.
    ///
    /// Its calls refer to it, so that its name is looked up only once for each call.
    private final class Sender {
        let name: BusName?
        var account: CallAccounts.Account
        /// Its calls by number: those without an answer or, once it has left, those of them that still count.
        var calls: Set<UInt64> = []
        var hasLeft = false
        /// Whether only a limited number of calls may start per second.
        var isPaced: Bool
        /// Number of bytes sent to it since the bus was last asked how much it has not read.
        var sent = 0
        /// Number of bytes that it had not read when the bus was asked, if there were many.
        var unread = 0
        /// Whether the bus still has to answer a question about it.
        var isAsked = false
        /// Whether the bus is to be asked again later.
        var isFollowed = false

        init(_ name: BusName?, isPaced: Bool) {
            self.name = name
            account = .sender(name)
            self.isPaced = isPaced
        }
    }

    private var calls: [UInt64: Call] = [:]
    private var senders: [BusName?: Sender] = [:]
    /// Number of senders above which those without calls are forgotten, unless ``learnsWhoLeaves``.
    private var keptSenders = Self.fewSenders
    /// Whether ``leave(_:)`` is called for each sender that leaves the bus.
    var learnsWhoLeaves = false
    let accounts: CallAccounts
    private var turns = CallTurns()
    /// Number of bytes that each account has not read from the bus.
    private var unread: Shares<CallAccounts.Account>
    private let isOnBus: Bool
    private var lastNumber: UInt64 = 0
    private let pacesStrangers: Bool

    /// - Parameters:
    ///   - accounts: The accounts, if they also count calls on other connections; nil for accounts of this connection
    ///     only.
    ///   - isOnBus: Whether the other end is a bus, rather than the only sender.
    init(_ limits: ConnectionLimits, _ accounts: CallAccounts? = nil, isOnBus: Bool = true) {
        self.accounts = accounts ?? CallAccounts(limits)
        unread = Shares(limit: limits.unreadAnswerBytes)
        self.isOnBus = isOnBus
        pacesStrangers = limits.pacesStrangers
    }

    var isIdle: Bool { calls.isEmpty }

    /// Returns whether every call has its answer, apart from calls that do not start because a program does not read.
    ///
    /// - Parameter isRead: Whether the other end of the connection reads. If it does not, no call starts.
    func isIdle(exceptUnreadWhere isRead: Bool) -> Bool {
        calls.count == (isRead ? turns.unreadCount : turns.allCount)
    }

    /// Number of calls that are waiting to start, excluding those from programs that do not read their answers.
    var waiting: Int { turns.count }

    // MARK: Beginning

    /// Adds a call, which then waits for ``startNext()``.
    ///
    /// - Parameter start: Starts the call with this number, and returns its task if it has one.
    /// - Returns: The error for a call that exceeds a limit and is therefore not added; otherwise nil.
    mutating func add(
        _ load: CallLoad,
        of sender: BusName?,
        _ descriptors: [ReceivedDescriptor],
        _ start: @escaping @Sendable (UInt64) -> Task<Void, Never>?
    ) -> RemoteError? {
        let sender = self.sender(sender)
        if let excess = accounts.take(load, for: sender.account) { return RemoteError(.limitsExceeded, excess) }
        let number = lastNumber + 1
        insert(Call(load, of: sender, descriptors, .start { start(number) }))
        return nil
    }

    /// Makes a call wait for ``startNext()``, which answers it at once.
    ///
    /// - Returns: False if too many such calls are waiting, or if the program does not read its answers. The call then
    ///   gets no answer.
    mutating func addRefused(of sender: BusName?, _ answer: @escaping @Sendable () -> Void) -> Bool {
        let sender = self.sender(sender)
        guard !turns.isHeld(sender.account, for: .unread), accounts.addRefused(to: sender.account) else { return false }
        insert(Call(nil, of: sender, [], .refuse(answer)))
        return true
    }

    private func sender(_ name: BusName?) -> Sender { senders[name] ?? Sender(name, isPaced: pacesStrangers) }

    private mutating func insert(_ call: Call) {
        lastNumber += 1
        calls[lastNumber] = call
        // A sender without calls may be new.
        if call.sender.calls.isEmpty {
            if senders.count >= keptSenders, !learnsWhoLeaves { forgetSenders() }
            senders[call.sender.name] = call.sender
        }
        call.sender.calls.insert(lastNumber)
        turns.add(lastNumber, of: call.sender.account)
    }

    private static let fewSenders = 256

    /// Forgets the senders without calls, most of which may have left. Those that have not read everything still count.
    private mutating func forgetSenders() {
        senders = senders.filter { !$0.value.calls.isEmpty || $0.value.unread > 0 }
        keptSenders = max(Self.fewSenders, 2 * senders.count)
    }

    /// Number of senders that are remembered.
    var senderCount: Int { senders.count }

    /// Number of calls that an account with a limit may start within ``pacePeriod``: far more than a person causes, but
    /// few enough to leave processor time for the others.
    static let callsPerPeriod = 100
    static let pacePeriod = Duration.milliseconds(100)

    /// The next time at which accounts that have started all their calls for a period may continue; nil if there are
    /// none.
    private(set) var paceEnd: ContinuousClock.Instant?

    /// Ends the hold on all accounts whose period has ended.
    mutating func endPaces() {
        paceEnd = turns.endPaces(now: .now)
    }

    private mutating func countStart(of account: CallAccounts.Account) {
        let (limit, period) = (Self.callsPerPeriod, Self.pacePeriod)
        guard let end = turns.countStart(of: account, limit: limit, period: period, now: .now) else { return }
        paceEnd = min(paceEnd ?? end, end)
    }

    /// The outcome of the next turn.
    enum Next {
        case startedTask
        /// A call without a task.
        case started
        /// A call that is refused. The function answers it.
        case refused(@Sendable () -> Void)
    }

    /// Starts the call whose turn it is; returns nil if none is waiting.
    mutating func startNext() -> Next? {
        while let number = turns.next() {
            guard let call = calls[number] else { continue }
            let sender = call.sender
            if sender.isPaced { countStart(of: sender.account) }
            switch call.beginning {
            case .start(let start):
                let task = start()
                call.beginning = .started(task)
                // Open descriptors count until the answer, because nothing closes them before.
                if sender.hasLeft, call.descriptors.isEmpty { discount(number, call) }
                return task == nil ? .started : .startedTask
            case .refuse(let answer):
                end(number)
                // A sender that has left does not need an error.
                if !sender.hasLeft { return .refused(answer) }
            case .started: continue
            }
        }
        return nil
    }

    // MARK: The end

    /// Forgets a call that has its answer.
    ///
    /// - Returns: Whether the call had no answer before.
    @discardableResult
    mutating func end(_ number: UInt64) -> Bool {
        guard let call = calls.removeValue(forKey: number) else { return false }
        discount(number, call)
        if calls.isEmpty, calls.capacity > Self.keptCapacity { calls = [:] }
        return true
    }

    /// Number of calls for which memory is kept after a burst.
    private static let keptCapacity = 4096

    /// Releases what a call uses, unless that has been done because its sender has left.
    private mutating func discount(_ number: UInt64, _ call: Call) {
        let sender = call.sender
        guard sender.calls.remove(number) != nil else { return }
        if let load = call.load {
            accounts.remove(load, from: sender.account)
        } else {
            accounts.removeRefused(from: sender.account)
        }
        if sender.hasLeft, sender.calls.isEmpty { senders[sender.name] = nil }
    }

    /// From now on, counts a sender's calls towards an account. Ignores a sender that has made no calls, or has left.
    ///
    /// - Parameter isPaced: Whether only a limited number of the sender's calls may start per second.
    /// - Returns: False if the sender was ignored.
    mutating func setAccount(_ account: String, isPaced: Bool, of name: BusName) -> Bool {
        guard let sender = senders[name], !sender.hasLeft else { return false }
        let (old, new) = (sender.account, CallAccounts.Account.named(account))
        sender.isPaced = isPaced
        guard old != new else {
            if !isPaced { turns.release(old, from: .pace) }
            return true
        }
        sender.account = new
        turns.move(sender.calls, from: old, to: new)
        // In this order, the total never counts the bytes twice.
        count(0, instead: sender.unread, to: old)
        count(sender.unread, instead: 0, to: new)
        for call in sender.calls.compactMap({ calls[$0] }) {
            guard let load = call.load else {
                accounts.removeRefused(from: old)
                accounts.countRefused(to: new)
                continue
            }
            accounts.remove(load, from: old)
            accounts.add(load, to: new)
        }
        return true
    }

    /// Releases what a sender's started calls use, because the sender has left the bus. All its calls continue.
    ///
    /// A call that has not started or is waiting for an error counts until its turn. Otherwise a program could fill the
    /// memory by calling and leaving again and again. If it has descriptors, it counts until its answer.
    mutating func leave(_ name: BusName) {
        guard let sender = senders[name] else { return }
        _ = setUnread(0, of: name)
        sender.hasLeft = true
        for number in sender.calls {
            guard let call = calls[number] else { continue }
            // If a call has not started, its descriptors still count, and its method may want to use them.
            guard call.beginning.hasStarted else { continue }
            for received in call.descriptors { received.descriptor?.closeNow() }
            discount(number, call)
        }
        if sender.calls.isEmpty { senders[name] = nil }
    }

    // MARK: Answers that are not read

    /// A program with fewer unread bytes than this counts as one that reads its answers.
    static let fewBytes = 64 << 10

    /// Counts a message to a sender.
    ///
    /// - Returns: Whether to ask the bus what the sender has not read, for ``setUnread(_:of:)``.
    mutating func countSent(_ bytes: Int, to name: BusName) -> Bool {
        guard let sender = senders[name], !sender.hasLeft else { return false }
        sender.sent += bytes
        guard !sender.isAsked, sender.sent > Self.fewBytes else { return false }
        sender.isAsked = true
        return true
    }

    /// Notes what a sender has not read. If an account leaves too much unread, its calls do not start. Ignores a sender
    /// that has left, because the bus has dropped what it had for the sender.
    ///
    /// - Parameter bytes: The bus's answer; nil if the bus did not report it this time.
    /// - Returns: Whether to ask the bus again later, for ``askAgain(about:)``.
    mutating func setUnread(_ bytes: Int?, of name: BusName) -> Bool {
        guard let sender = senders[name], !sender.hasLeft else { return false }
        let bytes = bytes.map { $0 > Self.fewBytes ? $0 : 0 } ?? max(sender.unread, 1)
        let isNew = bytes > 0 && !sender.isFollowed
        sender.sent = 0
        sender.isAsked = false
        count(bytes, instead: sender.unread, to: sender.account)
        sender.unread = bytes
        if isNew { sender.isFollowed = true }
        return isNew
    }

    /// Notes that it is time to ask the bus again.
    ///
    /// - Returns: False if the bus is already being asked, or if the sender has left.
    mutating func askAgain(about name: BusName) -> Bool {
        guard let sender = senders[name], !sender.hasLeft else { return false }
        defer { sender.isAsked = true }
        sender.isFollowed = false
        return !sender.isAsked
    }

    /// Notes how many bytes wait in this program for the only sender, which is at the other end of a connection without
    /// a bus.
    mutating func setWaiting(_ bytes: Int, for name: BusName?) {
        let bytes = bytes > Self.fewBytes ? bytes : 0
        // Hardly ever does anything wait, so look for the sender last.
        guard bytes > 0 || !accounts.waiting.isEmpty, let sender = senders[name], !sender.hasLeft,
            bytes != sender.unread
        else { return }
        count(bytes, instead: sender.unread, to: sender.account)
        sender.unread = bytes
    }

    private mutating func count(_ bytes: Int, instead earlier: Int, to account: CallAccounts.Account) {
        // Without a bus, nothing would end a hold when the account's other connections have read enough.
        guard isOnBus else { return accounts.countWaiting(bytes, instead: earlier, of: account) }
        unread.remove(earlier, from: account)
        unread.add(bytes, to: account)
        // An account may leave as many bytes unread as remain free for the others.
        if unread[account] > max(unread.limit - unread.total, Self.fewBytes) {
            turns.hold(account, for: .unread)
        } else {
            turns.release(account, from: .unread)
        }
    }

    /// Whether a sender, or another connection of its account, does not read its answers.
    func isHeld(_ name: BusName?) -> Bool {
        if !isOnBus, accounts.waiting.isEmpty { return false }
        guard let sender = senders[name] else { return false }
        return isOnBus ? turns.isHeld(sender.account, for: .unread) : accounts.leavesTooMuch(sender.account)
    }

    /// Cancels a call that has started, if it has a task.
    func cancel(_ number: UInt64) {
        calls[number]?.beginning.task?.cancel()
    }

    /// Drops the calls that have not started.
    mutating func dropWaiting() {
        for number in turns.removeAll() { end(number) }
    }

    /// Cancels the calls that have started, and drops the others.
    mutating func cancelAll() {
        dropWaiting()
        for call in calls.values { call.beginning.task?.cancel() }
    }
}

/// A descriptor in a call's arguments. Only the method keeps it open, for as long as the method needs it.
struct ReceivedDescriptor {
    weak var descriptor: UnixFD?
}
