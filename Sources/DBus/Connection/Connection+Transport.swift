internal import CLinux
internal import Glibc
internal import Reactor

/// The exchange of bytes with the other end.
///
/// libdbus opens and authenticates a connection to an address in D-Bus's notation, and is not involved after that. If
/// the socket's path is known, libdbus is not needed at all. This module reads messages from the socket, passes each to
/// ``Connection/receive(_:)``, and writes messages to the socket.
extension Connection {
    /// Size of the send buffer of a socket to a bus. Linux doubles it, but also counts its own overhead.
    private static let socketBytes: CInt = 8 << 10

    /// Begins to read. From now on the event loop keeps the connection alive, until its socket is closed.
    ///
    /// A socket to a bus holds only about as much as the bus reads in its next few turns. The default is more than
    /// 200 KiB. If a program floods a service, the answers to its calls fill the socket, and while the bus is busy with
    /// the flood, the answer to another program would wait behind them for many seconds.
    func attach() {
        if uniqueName != nil {
            var bytes = Self.socketBytes
            // If the kernel refuses, the default stays.
            setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout.size(ofValue: bytes)))
        }
        inputWatch = loop.watch(socket, for: .readable) { [self] _ in assumeIsolated { $0.read() } }
        // Messages may already have been read after the answer in the first exchange.
        scheduleDispatch()
    }

    // MARK: Signals

    /// Makes the kernel send this process a signal for each message that arrives from now on. If the process is
    /// stopped, `SIGCONT` continues it.
    ///
    /// - Returns: False if a message has arrived that this connection has not handled yet, or if the kernel refuses.
    public func startSignalling(_ signal: CInt) -> Bool {
        guard state == .open, !messagesAreLeft, signal_process(getpid(), signal, socket) == 0 else { return false }
        var input = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) == 0
    }

    /// Ends what ``startSignalling(_:)`` began.
    public func stopSignalling() {
        // This fails only for a closed descriptor, which has no signals.
        if state == .open || state == .closing { _ = signal_no_process(socket) }
    }

    // MARK: Input

    /// Number of messages to handle before other jobs of the loop get their turn.
    private static let messagesPerTurn = 64
    /// Number of reads in one turn while calls are waiting.
    private static let readsPerTurn = 4

    /// Reads and handles messages.
    ///
    /// While calls are waiting for their turn, this keeps reading: behind the calls from a program that floods the
    /// connection, there may be a call from another program, or an answer that a call is waiting for.
    private func read() {
        do throws(MalformedMessage) {
            reading: for _ in 0..<Self.readsPerTurn {
                // First handle messages that are left, which limits the memory that they take.
                guard !messagesAreLeft, state == .open || state == .closing, !hasEnded else { break }
                switch try input.read(from: socket) {
                case .read: break
                case .empty: break reading
                case .ended:
                    hasEnded = true
                    inputWatch?.isEnabled = false
                case .failed:
                    disconnect(.disconnected)
                    break reading
                }
                guard handleMessages(), server.calls.waiting > 1 else { break }
            }
        } catch {
            disconnect(.disconnected)
        }
        endTurn()
    }

    /// Ends a turn. The connection may have ended in it.
    private func endTurn() {
        if uniqueName == nil, !arrivedDescriptors.update(to: input.descriptors, in: server.calls.accounts) {
            disconnect(.disconnected)
        }
        if writingIsScheduled || outgoing.isWritten { sendQueued() } else { write() }
        server.startCall(on: self)
    }

    /// Handles the messages that have been read, and then the end of the connection if the other end has been closed.
    ///
    /// - Returns: Whether none is left.
    private func handleMessages() -> Bool {
        do throws(MalformedMessage) {
            messagesAreLeft = false
            guard try authenticate() else { return true }
            for _ in 0..<Self.messagesPerTurn {
                guard state == .open || state == .closing else { return true }
                guard let message = try input.nextMessage() else {
                    if hasEnded { disconnect(.disconnected) }
                    return true
                }
                if message.isValid {
                    receive(message)
                } else if uniqueName == nil {
                    disconnect(.disconnected)
                }
                // The bus passes on whatever its own rules allow, and no program may end another one's connection with
                // a message.
            }
        } catch {
            disconnect(.disconnected)
            return true
        }
        messagesAreLeft = true
        scheduleDispatch()
        return false
    }

    /// Handles the lines of the authentication that have been read.
    ///
    /// - Returns: Whether the other end has authenticated, or does not have to.
    private func authenticate() throws(MalformedMessage) -> Bool {
        guard authentication != nil else { return true }
        var answers = ""
        while let answer = try authentication?.answer(from: &input) { answers += answer }
        guard
            answers.isEmpty
                || answers.withCString({ Glibc.send(socket, $0, answers.utf8.count, CInt(MSG_NOSIGNAL)) })
                    == answers.utf8.count
        else { throw MalformedMessage() }
        guard authentication?.isDone == true else {
            if hasEnded { disconnect(.disconnected) }
            return false
        }
        passesDescriptors = authentication?.passesDescriptors == true
        input.beginMessages()
        authentication = nil
        if let authenticationTimer { loop.cancelTimer(authenticationTimer) }
        authenticationTimer = nil
        return true
    }

    func scheduleDispatch() {
        guard !dispatchIsScheduled else { return }
        dispatchIsScheduled = true
        loop.execute {
            self.assumeIsolated { connection in
                connection.dispatchIsScheduled = false
                _ = connection.handleMessages()
                connection.endTurn()
            }
        }
    }
}
