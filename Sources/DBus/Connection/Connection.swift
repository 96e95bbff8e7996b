internal import CLinux
internal import Glibc
public import Reactor

/// A connection to a message bus, which calls methods of other programs and exports objects that other programs call.
///
/// Everything runs on the event loop's thread, which is the actor's executor. There are no locks, no change of threads between
/// a message and its effects, and only one order of events, the order of arrival. Another actor on the same loop calls this
/// actor without changing threads.
///
/// A connection lives until ``close()`` or until the bus goes away, even if no reference to it is left. After that,
/// every call fails with ``CallError/disconnected``, and the tasks of exported methods are cancelled. A connection does
/// not reconnect by itself, because its unique name, its well-known names and its subscriptions are gone with the bus.
public actor Connection {
    /// The event loop that carries the connection.
    public nonisolated let loop: EventLoop
    /// The name that the bus gave this connection; nil without a bus.
    public nonisolated let uniqueName: BusName?
    /// The name that the other end of a connection without a bus has given this program; nil if it has given none.
    package nonisolated let givenName: BusName?
    /// The name that this program has given to the other end (``namePeer(_:)``); nil on a bus, and for a nameless other end.
    public internal(set) var peerName: BusName?
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let limits: ConnectionLimits
    /// The socket, which is closed when the connection is released.
    let socket: CInt
    private(set) var state = State.open
    private var end: ConnectionEnd?
    private var closeTimer: TimerID?
    /// The authentication of the other end; nil once it has ended, and if libdbus has done it.
    var authentication: PeerAuthentication?
    var authenticationTimer: TimerID?
    /// Whether the other end takes descriptors.
    var passesDescriptors: Bool
    var waiters = Waiters()

    /// The bytes that have arrived and were not handled yet.
    var input: InputBuffer
    /// Whether the other end has closed. Messages before that may wait in the input.
    var hasEnded = false
    /// Whether whole messages may be left in the input.
    var messagesAreLeft = true
    var inputWatch: DescriptorWatch?
    var dispatchIsScheduled = false

    private var serials: Serials
    private var lastCall: UInt64 = 0
    /// The calls that wait for their answers, by number.
    var pendingCalls: [UInt64: PendingCall] = [:]
    /// The numbers of the calls that have been sent, by serial.
    var sentCalls: [UInt32: UInt64] = [:]
    var calledNames = CalledNames()
    var queue = OutgoingQueue()
    /// The messages on their way to the socket.
    var output = OutputBuffer()
    var writingIsScheduled = false
    /// The watch for room in the socket; nil until the socket was full.
    var outputWatch: DescriptorWatch?

    var objects = ObjectTree()
    var incomingCalls: IncomingCalls
    /// The timer for callers that wait because of their pace; nil while none waits.
    var paceTimer: TimerID?
    /// Whether the bus tells what its connections have not read, as far as is known.
    var tellsUnread = true
    /// The newest connection of the bus, as far as this connection has been told; nil before ``followConnections(_:)``.
    public internal(set) var newestConnection: ConnectionNumber?
    /// Learns of each change of a well-known name's owner, from ``followConnections(_:)`` on.
    var followedNames: (@Sendable (_ name: BusName, _ new: BusName?) -> Void)?
    /// The match rules by their bytes: the bus compares bytes, but Swift's `String` compares canonical equivalence.
    var matches: [[UInt8]: Match] = [:]
    var nameWatches = NameWatches()
    var subscriptions = Subscriptions()

    enum State {
        case open
        /// ``Connection/close()`` was called, and earlier messages are still being written.
        case closing
        /// The other end has closed, or everything has been written. The socket still exists.
        case disconnected
        case released
    }

    init(
        _ established: consuming EstablishedConnection,
        on loop: EventLoop,
        limits: ConnectionLimits,
        accounts: CallAccounts? = nil
    ) {
        socket = established.socket
        passesDescriptors = established.passesDescriptors
        uniqueName = established.uniqueName
        givenName = established.givenName
        serials = established.serials
        input = established.takeInput()
        self.loop = loop
        self.limits = limits
        incomingCalls = IncomingCalls(limits, accounts)
    }

    // MARK: The end

    /// Whether the connection carries messages. When it no longer does, each call fails.
    public var isOpen: Bool { state == .open }

    /// The time that ``close()`` gives the other end to take the messages.
    private static let closingTime = Duration.seconds(5)

    /// Ends the connection. Every call in flight fails at once, and the bus takes the names back.
    ///
    /// The method returns when earlier messages have been written, the other end has closed, or five seconds have passed.
    /// If the task is cancelled, the method returns at once, and the connection still ends. This program no longer
    /// answers calls that arrive from now on. A bus answers such calls itself when the connection is gone.
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

    /// Waits until the connection has ended.
    ///
    /// - Returns: The reason for the end; nil if the task was cancelled before.
    @discardableResult
    public func waitUntilClosed() async -> ConnectionEnd? {
        await wait(for: .closed)
        return state == .released ? end : nil
    }

    /// Fails the calls of this connection, and cancels the calls of a nameless other end.
    private func endCalls() {
        let calls = pendingCalls
        pendingCalls = [:]
        sentCalls = [:]
        calledNames = CalledNames()
        for call in calls.values {
            if let timer = call.timer { loop.cancelTimer(timer) }
            call.complete(.failure(.disconnected))
        }
        if let peerName {
            leave(peerName)
        } else {
            incomingCalls.cancelAll()
            nameWatches = NameWatches()
        }
        if incomingCalls.isIdle { waiters.resumeAll(.answered) }
        matches = [:]
        subscriptions.finish()
    }

    /// Ends the connection now.
    func disconnect(_ reason: ConnectionEnd) {
        guard state == .open || state == .closing else { return }
        if state == .open {
            end = reason
            endCalls()
        }
        for timer in [closeTimer, authenticationTimer] {
            if let timer { loop.cancelTimer(timer) }
        }
        state = .disconnected
        queue = OutgoingQueue()
        output = OutputBuffer()
        waiters.resumeAll(.room)
        // A message may be in hand now, so the socket is closed in a later job.
        loop.execute { self.assumeIsolated { $0.release() } }
    }

    /// Closes the socket, and drops the exported objects, whose methods may hold this connection.
    private func release() {
        guard state == .disconnected else { return }
        detach()
        state = .released
        objects = ObjectTree()
        waiters.resumeAll(.closed)
    }

    /// Returns a serial for a message that is sent now, so that the serials increase in the order of the messages.
    func nextSerial() -> UInt32 {
        while true {
            let serial = serials.next()
            if sentCalls[serial] == nil { return serial }
        }
    }

    /// Returns a number for the next call, under which the call waits for its answer.
    func nextCall() -> UInt64 {
        lastCall += 1
        return lastCall
    }
}

/// The reason why a connection has ended.
public enum ConnectionEnd: Sendable, Hashable {
    /// This program closed the connection.
    case closed
    /// The other end closed the connection, or sent data that is not a message.
    case disconnected
    /// The other end did not take its messages: more than ``ConnectionLimits/unreadBytes`` were waiting.
    case unread
    /// The other end did not prove within the time limit that it belongs to this user.
    case unauthenticated
}
