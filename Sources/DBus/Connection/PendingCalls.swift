internal import Reactor

/// One of this connection's calls, which is waiting for its answer.
struct PendingCall {
    let destination: BusName?
    let timer: TimerID?
    /// The call's message while it waits in the queue; nil once it has been sent.
    var unsent: WrittenMessage?
    /// The call's serial; nil while it waits in the queue.
    var serial: UInt32?
    /// Takes the answer or the error. The code that removes the entry calls this closure, exactly once.
    let complete: (Result<Message, CallError>) -> Void
}

/// This connection's calls that are waiting for their answers, and the owners of the names that they call.
///
/// It completes no call itself, because completing one may begin or end others.
struct PendingCalls {
    /// The calls by number.
    private var calls: [UInt64: PendingCall] = [:]
    /// The numbers of the calls that have been sent, by serial.
    private var sent: [UInt32: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    private var serials: Serials
    private let isOnBus: Bool
    private let loop: EventLoop
    /// The owners of the names that are called.
    var names = CalledNames()

    /// - Parameters:
    ///   - serials: The serials of the messages that were sent before.
    ///   - loop: The loop that has the calls' timers.
    init(after serials: Serials, isOnBus: Bool, on loop: EventLoop) {
        self.serials = serials
        self.isOnBus = isOnBus
        self.loop = loop
    }

    /// Number of calls that are waiting for their answers.
    var count: Int { calls.count }

    /// Returns a number for the next call, under which it waits for its answer.
    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Returns a serial for a message that is sent now. Because it is chosen this late, serials increase in the order
    /// of the messages.
    mutating func nextSerial() -> UInt32 {
        while true {
            let serial = serials.next()
            if sent[serial] == nil { return serial }
        }
    }

    mutating func add(_ call: PendingCall, as number: UInt64) {
        calls[number] = call
        if let serial = call.serial { sent[serial] = number }
    }

    func contains(_ number: UInt64) -> Bool { calls[number] != nil }

    /// The message of a call that waits in the queue; nil if the call has ended.
    func unsentMessage(of number: UInt64) -> WrittenMessage? { calls[number]?.unsent }

    mutating func markSent(_ number: UInt64, as serial: UInt32) {
        calls[number]?.unsent = nil
        calls[number]?.serial = serial
        sent[serial] = number
    }

    /// The number of the call that was sent with this serial.
    func number(sentAs serial: UInt32) -> UInt64? { sent[serial] }

    /// Removes a call.
    mutating func remove(_ number: UInt64) -> PendingCall? {
        guard let call = calls.removeValue(forKey: number) else { return nil }
        if let serial = call.serial { sent[serial] = nil }
        if let timer = call.timer { loop.cancelTimer(timer) }
        if let destination = call.destination { names.endCall(of: destination) }
        return call
    }

    /// Removes the call that a message answers; nil if it answers none, or comes from another program.
    mutating func remove(answeredBy message: Message) -> PendingCall? {
        guard let number = sent[message.replySerial], let call = calls[number],
            !isOnBus || names.isAnswer(message, to: call.destination)
        else { return nil }
        return remove(number)
    }

    /// Forgets a name, whose owner cannot be learned, and returns the numbers of its calls.
    mutating func forget(_ name: BusName) -> [UInt64] {
        names.remove(name)
        return calls.filter { $0.value.destination == name }.keys.sorted()
    }

    /// Removes all calls, and forgets the names.
    mutating func removeAll() -> [PendingCall] {
        let removed = Array(calls.values)
        for case let timer? in removed.map(\.timer) { loop.cancelTimer(timer) }
        calls = [:]
        sent = [:]
        names = CalledNames()
        return removed
    }
}
