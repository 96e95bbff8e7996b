internal import DBus
internal import Logging

extension URLRouter {
    /// Lets programs of the user reach the router without the bus. Call the method when the router's name is this process's.
    public func openLane() async {
        do {
            try await lane?.listen { [unowned self] id in
                self.assumeIsolated { $0.sessions[id]?.processes.offersLane() }
            }
        } catch {
            log.warning("programs can reach the router only over the bus: \(error)")
        }
    }

    /// Refuses the calls that arrive over the lane from now on. Their senders use the bus.
    public func refuseMoreOnLane() async { await lane?.refuseMore() }

    /// Returns when every call that has arrived over the lane has its answer.
    public func waitUntilAnsweredOnLane() async { await lane?.waitUntilAnswered() }

    /// Ends the connections of the lane.
    public func closeLane() async { await lane?.close() }

    /// Continues all handlers that the router has stopped, because the router ends.
    public func continueHandlers() { sessions.continueStopped() }
}
