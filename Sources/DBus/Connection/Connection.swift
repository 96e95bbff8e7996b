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
    /// Descriptors in the input.
    var arrivedDescriptors = ArrivedDescriptors()

    var pendingCalls: PendingCalls
    var outgoing: Outgoing
    var writingIsScheduled = false
    /// The watch for room in the socket; nil until the socket is full for the first time.
    var outputWatch: DescriptorWatch?

    let server: ObjectServer
    var unreadAnswers = UnreadAnswers()
    /// The newest connection on the bus that this one knows about; nil before ``followConnections(_:)``.
    public internal(set) var newestConnection: ConnectionNumber?
    /// Called for each change of a well-known name's owner, after ``followConnections(_:)``.
    var followedNames: (@Sendable (_ name: BusName, _ new: BusName?) -> Void)?
    var matches = MatchRules()
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
        let isOnBus = established.uniqueName != nil
        socket = established.socket
        passesDescriptors = established.passesDescriptors
        uniqueName = established.uniqueName
        givenName = established.givenName
        pendingCalls = PendingCalls(after: established.serials, isOnBus: isOnBus, on: loop)
        input = established.takeInput()
        outgoing = Outgoing(limits)
        server = ObjectServer(limits, accounts, isOnBus: isOnBus)
        self.loop = loop
        self.limits = limits
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
            if !outgoing.isEmpty {
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
        for call in pendingCalls.removeAll() { call.complete(.failure(.disconnected)) }
        if let peerName {
            // When this program closes the connection, calls that have not started get no answer from it.
            if end == .closed { server.calls.dropWaiting() }
            server.leave(peerName, on: self)
            // A handler may use this connection, which is ending, and may end any watch, so look each one up when its
            // turn comes.
            loop.execute {
                self.assumeIsolated { connection in
                    for id in connection.nameWatches.ids(of: peerName) {
                        connection.nameWatches.handler(id)?(peerName, nil)
                    }
                    connection.nameWatches = NameWatches()
                }
            }
        } else {
            server.calls.setWaiting(0, for: nil)
            server.calls.cancelAll()
            nameWatches = NameWatches()
        }
        server.resumeIfAnswered(on: self)
        matches = MatchRules()
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
        outgoing.removeAll()
        waiters.resumeAll(.room)
        // A message may be in use right now, so close the socket in a later job.
        loop.execute { self.assumeIsolated { $0.release() } }
    }

    /// Closes the socket, and drops the exported objects, because their methods may hold this connection.
    private func release() {
        guard state == .disconnected else { return }
        for watch in [inputWatch, outputWatch] { watch?.cancel() }
        inputWatch = nil
        outputWatch = nil
        arrivedDescriptors.update(to: 0, in: server.calls.accounts)
        input = InputBuffer(limit: 0, descriptors: 0)
        Glibc.close(socket)
        state = .released
        server.objects = ObjectTree()
        waiters.resumeAll(.closed)
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
