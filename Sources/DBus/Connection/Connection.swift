internal import CLinux
internal import Glibc
public import Reactor

/// A connection to a message bus, which calls other programs' methods and exports objects for them to call.
///
/// Everything runs on the event loop's thread, which is the actor's executor. So there are no locks, no switch of
/// threads between a message and its effects, and only one order of events, the order of arrival. Another actor on the
/// same loop calls this one without switching threads.
///
/// A connection lives until ``close()`` or until the bus goes away, even if nothing refers to it any longer. After
/// that, every call fails with ``CallError/disconnected``, and the tasks of exported methods are cancelled. It does not
/// reconnect by itself, because its unique name, its well-known names and its subscriptions went away with the bus.
public actor Connection {
    /// The event loop on which the connection runs.
    public nonisolated let loop: EventLoop
    /// This connection's name on the bus; nil without a bus.
    public nonisolated let uniqueName: BusName?
    /// This program's name, given by the other end of a connection without a bus; nil if it has given none.
    package nonisolated let givenName: BusName?
    /// The other end's name, given by this program (``namePeer(_:)``); nil on a bus, or if it has given none.
    public internal(set) var peerName: BusName?
    /// The event loop as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let limits: ConnectionLimits
    /// The socket, which is closed when the connection is released.
    let socket: CInt
    private(set) var state = State.open
    private var end: ConnectionEnd?
    private var closeTimer: TimerID?
    /// The state of the other end's authentication; nil once it is over, or if libdbus has handled it.
    var authentication: PeerAuthentication?
    var authenticationTimer: TimerID?
    /// Whether the other end accepts descriptors.
    var passesDescriptors: Bool
    var waiters = Waiters()

    /// Bytes that have arrived but have not been handled yet.
    var input: InputBuffer
    /// Whether the other end has been closed. Earlier messages may still be in the input.
    var hasEnded = false
    /// Whether whole messages may be left in the input.
    var messagesAreLeft = true
    var inputWatch: DescriptorWatch?
    var dispatchIsScheduled = false
    /// Number of descriptors in the input that are counted towards ``arrivalAccount``.
    var arrivedDescriptors = 0
    /// The account of descriptors that arrive before the rest of their message.
    var arrivalAccount = CallAccounts.Account.sender(nil)

    private var serials: Serials
    private var lastCall: UInt64 = 0
    /// Calls that are waiting for their answers, by number.
    var pendingCalls: [UInt64: PendingCall] = [:]
    /// Calls that have been sent, by serial.
    var sentCalls: [UInt32: UInt64] = [:]
    var calledNames = CalledNames()
    var queue = OutgoingQueue()
    /// Messages on their way to the socket.
    var output = OutputBuffer()
    var writingIsScheduled = false
    /// The watch for room in the socket; nil until the socket is full for the first time.
    var outputWatch: DescriptorWatch?

    var objects = ObjectTree()
    var incomingCalls: IncomingCalls
    /// Whether ``waitUntilAnswered()`` has waited long enough for programs that do not read.
    var ignoresUnread = false
    /// The timer for callers that have to wait because they call too often; nil while there are none.
    var paceTimer: TimerID?
    /// Whether the bus reports what its connections have not read; true until it turns out otherwise.
    var tellsUnread = true
    /// The newest connection on the bus that this one knows about; nil before ``followConnections(_:)``.
    public internal(set) var newestConnection: ConnectionNumber?
    /// Called for each change of a well-known name's owner, after ``followConnections(_:)``.
    var followedNames: (@Sendable (_ name: BusName, _ new: BusName?) -> Void)?
    /// Match rules by their bytes, because the bus compares bytes and Swift's `String` compares by canonical
    /// equivalence.
    var matches: [[UInt8]: Match] = [:]
    var nameWatches = NameWatches()
    var subscriptions = Subscriptions()

    enum State {
        case open
        /// ``Connection/close()`` was called, and earlier messages are still being written.
        case closing
        /// Either the other end has been closed, or everything has been written. The socket still exists.
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
        incomingCalls = IncomingCalls(limits, accounts, isOnBus: established.uniqueName != nil)
    }

    // MARK: The end

    /// Whether the connection carries messages. If not, every call fails.
    public var isOpen: Bool { state == .open }

    /// How long ``close()`` waits for the other end to take the messages.
    private static let closingTime = Duration.seconds(5)

    /// Ends the connection. Every call in flight fails at once, and the bus releases the names.
    ///
    /// It returns when earlier messages have been written, the other end has been closed, or five seconds have passed.
    /// If the task is cancelled, it returns at once, and the connection still ends. Calls that arrive from now on get
    /// no answer from this program; a bus answers them itself when the connection is gone.
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
    /// - Returns: Why it ended; nil if the task was cancelled first.
    @discardableResult
    public func waitUntilClosed() async -> ConnectionEnd? {
        await wait(for: .closed)
        return state == .released ? end : nil
    }

    /// Makes this connection's calls fail, and cancels the other end's calls if it has no name.
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
            // When this program closes the connection, calls that have not started get no answer from it.
            if end == .closed { incomingCalls.dropWaiting() }
            leave(peerName)
        } else {
            incomingCalls.setWaiting(0, for: nil)
            incomingCalls.cancelAll()
            nameWatches = NameWatches()
        }
        resumeIfAnswered()
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
        // A message may be in use right now, so close the socket in a later job.
        loop.execute { self.assumeIsolated { $0.release() } }
    }

    /// Closes the socket, and drops the exported objects, because their methods may hold this connection.
    private func release() {
        guard state == .disconnected else { return }
        detach()
        state = .released
        objects = ObjectTree()
        waiters.resumeAll(.closed)
    }

    /// Returns a serial for a message that is sent now. Because it is chosen this late, serials increase in the order
    /// of the messages.
    func nextSerial() -> UInt32 {
        while true {
            let serial = serials.next()
            if sentCalls[serial] == nil { return serial }
        }
    }

    /// Returns a number for the next call, under which it waits for its answer.
    func nextCall() -> UInt64 {
        lastCall += 1
        return lastCall
    }
}

/// Why a connection has ended.
public enum ConnectionEnd: Sendable, Hashable {
    /// This program closed the connection.
    case closed
    /// The other end closed the connection, or sent data that is not a message.
    case disconnected
    /// The other end did not take its messages: more than ``ConnectionLimits/unreadBytes`` were waiting.
    case unread
    /// The other end did not prove in time that it belongs to this user.
    case unauthenticated
}
