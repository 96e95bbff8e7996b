internal import CDBus
public import Reactor

/// A connection to a message bus: calls others, and exports objects that others call.
///
/// All of libdbus runs on the event loop's thread, which is the actor's executor: no lock, no hop between a message and
/// what it leads to, and one order of events, that of arrival. Another actor on the same loop calls this one without
/// changing threads.
///
/// A connection lives until ``close()`` or until the bus goes away, whether or not somebody holds it; after that every
/// call fails with ``CallError/disconnected`` and the tasks of exported methods are cancelled. It does not connect again
/// by itself, as its unique name, its well-known names and what it watched are gone with the bus.
public actor Connection {
    /// The event loop that carries the connection.
    public nonisolated let loop: EventLoop
    /// The name that the bus gave this connection; nil without a bus.
    public nonisolated let uniqueName: BusName?
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let limits: ConnectionLimits
    /// libdbus's connection; nil from its release on.
    private(set) var raw: OpaquePointer?
    private(set) var state = State.open
    private var end: ConnectionEnd?
    private var closeTimer: TimerID?
    var authenticationTimer: TimerID?
    var waiters = Waiters()

    var watches = LibraryWatches()
    var dispatchIsScheduled = false
    var isDispatching = false

    private var serials = Serials()
    var pendingCalls: [UInt32: PendingCall] = [:]
    var queue = OutgoingQueue()

    var objects = ObjectTree()
    var incomingCalls = IncomingCalls()
    var matches: [[UInt8]: Match] = [:]
    var nameWatches = NameWatches()
    var subscriptions = Subscriptions()

    enum State {
        case open
        /// ``Connection/close()`` was called, and what was sent before is still being written.
        case closing
        /// The other end is gone, or everything is written; libdbus's object is still there.
        case disconnected
        case released
    }

    init(_ established: EstablishedConnection, on loop: EventLoop, limits: ConnectionLimits) {
        raw = established.raw
        uniqueName = established.uniqueName
        self.loop = loop
        self.limits = limits
    }

    // MARK: The end

    /// How long ``close()`` waits for the other end to take what was sent.
    private static let closingTime = Duration.seconds(5)

    /// Ends the connection: every call in flight fails at once, and names are given back.
    ///
    /// It returns when what was sent before has been written, the other end is gone, or five seconds are over; when the task
    /// is cancelled it returns at once, and the connection ends all the same. Calls of others that arrive from now on get no
    /// answer from this program; a bus answers them itself when the connection is gone.
    public func close() async {
        if state == .open {
            end = .closed
            endCalls()
            if hasMessagesToSend {
                state = .closing
                closeTimer = loop.schedule(at: .now + Self.closingTime) {
                    self.assumeIsolated { $0.disconnect(.closed) }
                }
            } else {
                disconnect(.closed)
            }
        }
        await waitUntilClosed()
    }

    /// Returns when the connection has ended.
    ///
    /// - Returns: why it has; nil when the task was cancelled before.
    @discardableResult
    public func waitUntilClosed() async -> ConnectionEnd? {
        await wait(for: .closed)
        return state == .released ? end : nil
    }

    /// Ends what waits for the other end, and what the other end waits for.
    private func endCalls() {
        let calls = pendingCalls
        pendingCalls = [:]
        for call in calls.values {
            if let timer = call.timer { loop.cancelTimer(timer) }
            call.complete(.failure(.disconnected))
        }
        incomingCalls.cancelAll()
        matches = [:]
        nameWatches = NameWatches()
        subscriptions.finish()
    }

    /// Ends the connection now.
    func disconnect(_ reason: ConnectionEnd) {
        guard state == .open || state == .closing else { return }
        if state == .open {
            end = reason
            endCalls()
        }
        if let closeTimer { loop.cancelTimer(closeTimer) }
        state = .disconnected
        queue = OutgoingQueue()
        waiters.resumeAll(.room)
        // libdbus may be in the middle of a callback now, so its object goes in a turn of its own.
        loop.execute { self.assumeIsolated { $0.release() } }
    }

    private func release() {
        guard let raw else { return }
        detach(raw)
        markReleased()
    }

    /// libdbus's object is gone, and with it what others gave to this one, which may hold it in turn.
    func markReleased() {
        raw = nil
        state = .released
        objects = ObjectTree()
        waiters.resumeAll(.closed)
    }

    /// Numbers of messages are our own, so that a call's is known before it is sent.
    func nextSerial() -> UInt32 {
        while true {
            let serial = serials.next()
            if pendingCalls[serial] == nil { return serial }
        }
    }
}

/// Why a connection has ended.
public enum ConnectionEnd: Sendable, Hashable {
    /// This program closed it.
    case closed
    /// The other end closed it, or sent what is no message.
    case disconnected
    /// The other end did not take what was sent: more than ``ConnectionLimits/unreadBytes`` waited for it.
    case unread
    /// The other end did not prove within its time that it belongs to this user.
    case unauthenticated
}

/// A pointer of libdbus on its way into the actor that runs on this very thread; it is used before the callback returns.
struct LibraryPointer: @unchecked Sendable {
    let pointer: OpaquePointer
}
