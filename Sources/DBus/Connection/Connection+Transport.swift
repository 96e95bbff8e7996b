internal import CLinux
internal import Glibc
internal import Reactor

/// The exchange of bytes with the other end.
///
/// libdbus opens and authenticates a connection to an address in D-Bus's notation, and then has no part in it. A socket whose path
/// is known needs no libdbus. This module reads messages from the socket, takes each to ``Connection/receive(_:)``, and writes
/// messages to the socket.
extension Connection {
    /// Begins to read. The event loop keeps the connection alive from now on, until ``detach()``.
    func attach() {
        inputWatch = loop.watch(socket, for: .readable) { [self] _ in assumeIsolated { $0.read() } }
        // The first exchange may have read messages behind its answer.
        scheduleDispatch()
    }

    /// Ends the watches and closes the socket.
    func detach() {
        for watch in [inputWatch, outputWatch] { watch?.cancel() }
        inputWatch = nil
        outputWatch = nil
        input = InputBuffer(limit: 0, descriptors: 0)
        Glibc.close(socket)
    }

    // MARK: Signals

    /// Makes the kernel send a signal to this process for each message that arrives from now on. `SIGCONT` continues a process that
    /// is stopped.
    ///
    /// - Returns: False if a message has arrived that this connection has not handled yet, or if the kernel refuses.
    public func startSignalling(_ signal: CInt) -> Bool {
        guard state == .open, !messagesAreLeft, signal_process(getpid(), signal, socket) == 0 else { return false }
        var input = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) == 0
    }

    /// Ends the signals of ``startSignalling(_:)``.
    public func stopSignalling() {
        // Only a descriptor that is closed refuses this, and it has no signals.
        if state == .open || state == .closing { _ = signal_no_process(socket) }
    }

    // MARK: Input

    /// The number of messages that are handled before other jobs of the loop get their turn.
    private static let messagesPerTurn = 64
    /// The number of times that a turn reads while calls wait.
    private static let readsPerTurn = 4

    /// Reads and handles messages.
    ///
    /// While calls wait for their turn, more messages are read: the call of another program may be behind the calls of a program
    /// that floods, and an answer that a call awaits, too.
    private func read() {
        for _ in 0..<Self.readsPerTurn {
            // Messages that are left are handled first, so the memory for them has a bound.
            guard !messagesAreLeft, readOnce(), handleMessages(), incomingCalls.waiting > 1 else { break }
        }
        endTurn()
    }

    /// - Returns: Whether something was read.
    private func readOnce() -> Bool {
        guard state == .open || state == .closing, !hasEnded else { return false }
        do throws(MalformedMessage) {
            switch try input.read(from: socket) {
            case .read: return true
            case .empty: return false
            case .ended:
                hasEnded = true
                inputWatch?.isEnabled = false
                return true
            case .failed: disconnect(.disconnected)
            }
        } catch {
            disconnect(.disconnected)
        }
        return false
    }

    private func dispatch() {
        _ = handleMessages()
        endTurn()
    }

    /// Ends a turn, which may have ended the connection.
    private func endTurn() {
        if writingIsScheduled || output.isEmpty { sendQueued() } else { write() }
        startCall()
    }

    /// Handles messages that have been read, and then the end of the other end.
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
                // A bus passes on what its own rules allow, and no program may end the connection of another one with a message.
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
    /// - Returns: Whether the other end has authenticated, or needs not.
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
                connection.dispatch()
            }
        }
    }
}
