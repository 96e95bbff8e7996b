internal import DBus
internal import OpenURLBus

/// The router's signals.
protocol RouterSignals: Sendable {
    /// Sets which connections get the signals.
    func setSubscribers(_ names: [BusName])
    /// Emits the signal that these schemes now go to other handlers.
    func announce(changed schemes: [String])
    /// Emits the signal that a handler's state has changed.
    func announce(_ state: HandlerState, of id: BusName)
    /// Emits the signal that the state of a URL in the queue has changed.
    func announce(_ state: QueuedURL.State, ofQueued id: Int64)
    /// Emits a handle's signal, only to the handle's owner.
    func report(_ report: ProgressReport, from handle: ObjectPath, to owner: BusName)
    /// Emits the signal that a claim has ended, only to its owner.
    func complete(
        _ code: CallbackEnd,
        _ url: String,
        _ details: CallbackDetails,
        from handle: ObjectPath,
        to owner: BusName
    )
    /// Emits the signal that a claim's callback was refused, only to the claim's owner.
    func refuse(_ details: CallbackDetails, from handle: ObjectPath, to owner: BusName)
    /// Emits the signal about requests to one connection, and returns whether it still gets signals.
    func tell(_ entries: [MonitorEntry], to receiver: BusName) -> Bool
}
