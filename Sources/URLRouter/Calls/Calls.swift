internal import DBus
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// The calls that wait for their answers, by token.
///
/// A call is in the table until its outcome: the answer, the failure of the URL, a cancel, the time limit, or the end of its
/// caller's connection. The object belongs to the router's actor.
final class Calls {
    private let bus: any HandlerBus
    private let loop: EventLoop
    private var waiting: [String: Entry] = [:]
    private var shares: Shares<String>

    /// A call, and the things that end with it.
    private struct Entry {
        let call: WaitingCall
        let timer: RestartableTimer
        /// Tells the end of the caller's connection; nil until the bus has it.
        var watch: NameWatchID?
    }

    init(_ bus: any HandlerBus, _ limits: RouterLimits, _ loop: EventLoop) {
        self.bus = bus
        self.loop = loop
        shares = Shares(limit: limits.calls)
    }

    /// The number of calls.
    var count: Int { waiting.count }

    /// The call with a token; nil if there is none, or if it has its outcome.
    subscript(token: String) -> WaitingCall? { waiting[token]?.call }

    /// Adds a call.
    ///
    /// - Throws: `limitsExceeded` if too many calls of the sender's application wait.
    func add(of sender: Caller) throws(OpenURLError) -> WaitingCall {
        guard shares.refusal(of: sender.account, 1) == nil else {
            throw OpenURLError(
                .limitsExceeded,
                "\(shares[sender.account]) calls of \(sender.account) wait for their answers already"
            )
        }
        let call = WaitingCall(of: sender)
        shares.add(1, to: call.account)
        waiting[call.token] = Entry(call: call, timer: RestartableTimer(on: loop))
        return call
    }

    /// Ends a call with the connection of its caller.
    func follow(_ caller: BusName, _ call: WaitingCall) async throws(OpenURLError) {
        // The closure runs on the event loop, which is the router's executor.
        nonisolated(unsafe) let left = { [weak self] in self?.end(call, .failure(.withdrawn)) ?? () }
        do throws(CallError) {
            let watch = try await bus.watchOwner(of: caller) { _, new in if new == nil { left() } }
            guard waiting[call.token] != nil else { return bus.unwatchOwner(watch) }
            waiting[call.token]?.watch = watch
            // The connection may have ended before the watch began.
            if try await bus.owner(of: caller) == nil { left() }
        } catch {
            throw OpenURLError(.limitsExceeded, "the bus does not tell the end of the program: \(error)")
        }
    }

    /// Ends a call at its time. The URL has arrived.
    func limit(_ call: WaitingCall, to end: ContinuousClock.Instant, of timeout: Duration) {
        waiting[call.token]?.timer.start(at: end) { [unowned self] in
            let answerer = call.claimant?.id ?? "the handler"
            let error = OpenURLError(.timedOut, "\(answerer) has the URL, and did not answer within \(timeout.inWords)")
            self.end(call, .failure(error))
        }
    }

    /// Ends every call.
    func stop() {
        for entry in waiting.values {
            end(entry.call, .failure(OpenURLError(.cancelled, "the router has ended before the answer came")))
        }
    }

    /// Ends a call. Does nothing for a call that has its outcome.
    func end(_ call: WaitingCall, _ outcome: Result<OpenResult, OpenURLError>) {
        guard let entry = waiting.removeValue(forKey: call.token) else { return }
        shares.remove(1, from: call.account)
        entry.timer.cancel()
        if let watch = entry.watch { bus.unwatchOwner(watch) }
        call.end(outcome)
    }
}
