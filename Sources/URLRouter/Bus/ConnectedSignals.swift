internal import DBus
internal import OpenURLBus
internal import Reactor

/// The router's signals on a real bus, and on the lane beside it.
struct ConnectedSignals: RouterSignals {
    let lane: Lane
    private let subscribers = Lock<[BusName]>([])

    func setSubscribers(_ names: [BusName]) {
        subscribers.withLock { $0 = names }
    }

    var hasSubscribers: Bool { subscribers.withLock { !$0.isEmpty } }

    func announce(changed schemes: [String]) {
        emit(RegistryInterface.changed, schemes)
    }

    func announce(_ state: HandlerState, of id: BusName) {
        emit(LifecycleInterface.stateChanged, Arguments(id.rawValue, state.rawValue))
    }

    func announceLaunch(of id: BusName, _ scheme: String, image: String) {
        emit(LifecycleInterface.launchBegan, Arguments(id.rawValue, scheme, image))
    }

    func announceEndOfLaunch(of id: BusName) {
        emit(LifecycleInterface.launchEnded, id.rawValue)
    }

    func announce(_ state: QueuedURL.State, ofQueued id: Int64) {
        emit(QueueInterface.stateChanged, Arguments("\(id)", state.rawValue))
    }

    func report(_ report: ProgressReport, from handle: ObjectPath, to owner: BusName) {
        emit(RequestInterface.progress, Arguments(report.fraction, report.message), from: handle, to: owner)
    }

    func reportStart(from handle: ObjectPath, to owner: BusName) {
        emit(RequestInterface.started, Empty(), from: handle, to: owner)
    }

    func complete(
        _ code: CallbackEnd,
        _ url: String,
        _ details: CallbackDetails,
        from handle: ObjectPath,
        to owner: BusName
    ) {
        let body = Arguments(code.rawValue, url, details)
        emit(CallbackHandleInterface.completed, body, from: handle, to: owner)
    }

    func refuse(_ details: CallbackDetails, from handle: ObjectPath, to owner: BusName) {
        emit(CallbackHandleInterface.refused, details, from: handle, to: owner)
    }

    func tell(_ entries: [MonitorEntry], to receiver: BusName) -> Bool {
        emit(MonitorInterface.entries, entries, from: RouterService.path, to: receiver)
    }

    /// Emits a signal to all subscribers.
    private func emit<Body: MessageBody & Sendable>(_ signal: Signal<Body>, _ body: Body) {
        for name in subscribers.withLock({ $0 }) { emit(signal, body, from: RouterService.path, to: name) }
    }

    /// Emits a signal to one program.
    ///
    /// - Returns: whether the program gets it. If its connection has ended, no program is listening.
    @discardableResult
    private func emit<Body: MessageBody & Sendable>(
        _ signal: Signal<Body>,
        _ body: Body,
        from path: ObjectPath,
        to receiver: BusName
    ) -> Bool {
        lane.connection(of: receiver)?.assumeIsolated { connection in
            do throws(CallError) {
                return try connection.emit(signal, from: path, to: receiver, body)
            } catch {
                return false
            }
        } ?? false
    }
}
