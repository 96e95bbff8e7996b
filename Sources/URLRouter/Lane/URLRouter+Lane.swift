internal import DBus
internal import Logging

extension URLRouter {
    /// Lets the user's programs reach the router without the bus. Call this once the router's name belongs to this
    /// process.
    public func openLane() async {
        do {
            try await lane?.listen { [unowned self] id in
                self.assumeIsolated { $0.sessions[id]?.processes.offersLane() }
            }
        } catch {
            log.warning("programs can reach the router only over the bus: \(error)")
        }
    }

    /// Refuses calls that arrive over the lane from now on, so that their senders use the bus.
    public func refuseMoreOnLane() async { await lane?.refuseMore() }

    /// Returns as soon as every call that has arrived over the lane is answered, apart from those of programs that do
    /// not read.
    public func waitUntilAnsweredOnLane() async { await lane?.waitUntilAnswered() }

    /// Ends the connections over the lane.
    public func closeLane() async { await lane?.close() }

    /// Continues all handlers that the router has stopped, because it is about to exit.
    public func continueHandlers() { sessions.continueStopped() }
}
