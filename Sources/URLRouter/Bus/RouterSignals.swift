internal import DBus
internal import OpenURLBus

/// The router's signals.
protocol RouterSignals: Sendable {
    /// Sets the connections that get the signals.
    func setSubscribers(_ names: [BusName])
    /// Whether any connection gets the signals.
    var hasSubscribers: Bool { get }
    /// Signals that the given schemes now go to other handlers.
    func announce(changed schemes: [String])
    /// Signals that a handler's state has changed.
    func announce(_ state: HandlerState, of id: BusName)
    /// Signals that a handler is being launched, and gives the image to show meanwhile.
    func announceLaunch(of id: BusName, _ scheme: String, image: String)
    /// Signals that a launch is over.
    func announceEndOfLaunch(of id: BusName)
    /// Signals that the state of a URL in the queue has changed.
    func announce(_ state: QueuedURL.State, ofQueued id: Int64)
    /// Emits a handle's signal, but only to the handle's owner.
    func report(_ report: ProgressReport, from handle: ObjectPath, to owner: BusName)
    /// Signals to a handle's owner that an application's command has been started with the URL.
    func reportStart(from handle: ObjectPath, to owner: BusName)
    /// Signals to a claim's owner that the claim has ended.
    func complete(
        _ code: CallbackEnd,
        _ url: String,
        _ details: CallbackDetails,
        from handle: ObjectPath,
        to owner: BusName
    )
    /// Signals to a claim's owner that the claim's callback was refused.
    func refuse(_ details: CallbackDetails, from handle: ObjectPath, to owner: BusName)
    /// Emits the signal about requests to one connection, and returns whether that connection still gets signals.
    func tell(_ entries: [MonitorEntry], to receiver: BusName) -> Bool
}
