internal import Reactor

/// The messages that callers have not read yet.
///
/// Until a message's receiver reads it, dbus-daemon keeps the message and counts it against the sender. Above a limit,
/// it stops reading from the sender, so a caller that never reads could cut a service off from the bus.
extension Connection {
    /// How long to wait before asking the bus again about a caller that has left a lot unread. The bus has no signal
    /// for this.
    private static let timeToRead = Duration.seconds(1)

    /// Counts a message to a caller.
    func countSent(_ message: WrittenMessage, to receiver: BusName?) {
        guard newestConnection != nil, tellsUnread, let receiver,
            incomingCalls.countSent(message.size, to: receiver)
        else { return }
        followUnread(of: receiver)
    }

    /// Asks the bus again and again how much a caller has not read, until it is only a little.
    ///
    /// If the caller has been sent more in the meantime, this asks again without a pause. Otherwise, a caller that
    /// reads nothing would be sent as much as this program can write during the pause.
    private func followUnread(of receiver: BusName) {
        loop.startTask { await self.askUnread(of: receiver) }
    }

    private func askUnread(of receiver: BusName) async {
        let isLater = incomingCalls.setUnread(await unread(of: receiver), of: receiver)
        // The caller's calls may start again, or no longer start.
        if incomingCalls.waiting > 0 { scheduleDispatch() }
        resumeIfAnswered()
        guard isLater, state == .open else { return }
        loop.schedule(at: .now + Self.timeToRead) {
            self.assumeIsolated { if $0.incomingCalls.askAgain(about: receiver) { $0.followUnread(of: receiver) } }
        }
    }

    /// Returns the number of bytes that the bus holds for a connection: 0 if this bus never reports the number, nil if
    /// it did not report it this time.
    private func unread(of receiver: BusName) async -> Int? {
        do throws(CallError) {
            let statistics = try await call(BusDriver.getStatistics, on: BusDriver.object, receiver.rawValue)
            guard case .uint32(let bytes) = statistics["OutgoingBytes"] else {
                tellsUnread = false
                return 0
            }
            return Int(bytes)
        } catch .remote(let error) where error.name == .nameHasNoOwner {
            return 0
        } catch .remote(let error)
            where error.isFromMissingMethod || error.name == "org.freedesktop.DBus.Error.AccessDenied"
        {
            tellsUnread = false
            return 0
        } catch {
            // Either the connection has ended, or the bus has not answered in time, or it has reached one of its
            // limits.
            return nil
        }
    }
}
