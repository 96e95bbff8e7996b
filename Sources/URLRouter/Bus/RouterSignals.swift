internal import DBus
internal import OpenURLBus

/// The signals of the router.
protocol RouterSignals: Sendable {
    /// Sets the connections that get the signals.
    func setSubscribers(_ names: [BusName])
    /// Emits the signal that these schemes go to other handlers than before.
    func announce(changed schemes: [String])
    /// Emits the signal that a handler's state has changed.
    func announce(_ state: HandlerState, of id: BusName)
    /// Emits the signal that the state of a URL in the queue has changed.
    func announce(_ state: QueuedURL.State, ofQueued id: Int64)
    /// Emits the signal of a handle, to its owner alone.
    func report(_ report: ProgressReport, from handle: ObjectPath, to owner: BusName)
    /// Emits the signal of a claim that has ended, to its owner alone.
    func complete(
        _ code: CallbackEnd,
        _ url: String,
        _ details: CallbackDetails,
        from handle: ObjectPath,
        to owner: BusName
    )
    /// Emits the signal that a claim's callback was refused, to the claim's owner only.
    func refuse(_ details: CallbackDetails, from handle: ObjectPath, to owner: BusName)
    /// Emits the signal about requests, to one connection; returns whether the connection still gets signals.
    func tell(_ entries: [MonitorEntry], to receiver: BusName) -> Bool
}
