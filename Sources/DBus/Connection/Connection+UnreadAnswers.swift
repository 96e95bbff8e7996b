internal import Reactor

/// The messages to callers that the callers have not read yet.
///
/// dbus-daemon keeps a message until its receiver reads, and counts the message to its sender meanwhile. Above a limit it no longer reads
/// from the sender, so a caller that never reads could cut a service off from the bus.
extension Connection {
    /// The time after which the bus is asked again about a caller that has not read much. The bus has no signal for it.
    private static let timeToRead = Duration.seconds(1)

    /// Counts a message to a caller.
    func countSent(_ message: WrittenMessage, to receiver: BusName?) {
        guard newestConnection != nil, tellsUnread, let receiver,
            incomingCalls.countSent(message.size, to: receiver)
        else { return }
        followUnread(of: receiver)
    }

    /// Asks the bus what a caller has not read, again and again until it is little.
    ///
    /// The caller may get more meanwhile, and the bus is then asked without a pause: a caller that reads nothing would otherwise get
    /// as much as this program can write within the pause.
    private func followUnread(of receiver: BusName) {
        Task(executorPreference: loop) { await self.askUnread(of: receiver) }
    }

    private func askUnread(of receiver: BusName) async {
        let isLater = incomingCalls.setUnread(await unread(of: receiver), of: receiver)
        // The calls of the caller may start again.
        if incomingCalls.waiting > 0 { scheduleDispatch() }
        guard isLater, state == .open else { return }
        loop.schedule(at: .now + Self.timeToRead) {
            self.assumeIsolated { if $0.incomingCalls.askAgain(about: receiver) { $0.followUnread(of: receiver) } }
        }
    }

    /// Returns the bytes that wait in the bus for a connection: 0 if the bus never tells them, nil if it has not told them now.
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
            // The connection has ended, the bus has not answered in time, or a limit of the bus was reached.
            return nil
        }
    }
}
