internal import DBus

/// The owner of a handler's name, as the bus reports it.
///
/// The object belongs to the router's actor.
final class NameOwner {
    private let id: BusName
    private let bus: any BusNames
    /// Reports a change of the owner to the handler's session.
    private let changed: @Sendable (_ id: BusName, _ owner: BusName?) -> Void
    /// The watch of the name, from the first question on.
    private var watch: NameWatchID?
    /// The owner that the bus reported last, from the first answer about the watched name on.
    private var reported: BusName?
    /// Whether the bus has reported the owner, and reports every change, so that a launch need not ask.
    private var isKnown = false
    /// The number of changes. A task that asked the bus about an owner learns from it that the answer may be stale.
    private(set) var changes = 0

    init(_ id: BusName, _ host: SessionHost) {
        self.id = id
        bus = host.bus
        changed = host.ownerChanged
    }

    /// Whether the bus reports changes.
    var isWatched: Bool { watch != nil }

    /// Finds the owner. From then on the session learns of every change.
    ///
    /// - Parameter isForLaunch: whether the owner is looked for because the handler is to be launched, once the bus watches the name.
    ///   An answer of the bus would come behind all calls that have arrived meanwhile, and be no newer than the changes that
    ///   it has reported. A process that has ended may have lost the name to another one just now, which only an answer says for certain.
    func current(isForLaunch: () -> Bool) async throws(CallError) -> BusName? {
        if watch == nil {
            let (id, changed) = (id, changed)
            let watch = try await bus.watchOwner(of: id) { _, new in changed(id, new) }
            // Another task may have asked at the same time.
            if self.watch == nil { self.watch = watch } else { bus.unwatchOwner(watch) }
        }
        if isKnown, isForLaunch() { return reported }
        while true {
            let changes = changes
            let owner = try await bus.owner(of: id)
            // A change is reported at once, and the answer only when this task continues. The answer may be the older of the two.
            guard changes == self.changes else { continue }
            (reported, isKnown) = (owner, true)
            return owner
        }
    }

    /// Notes that the name has another owner, or none.
    func change(to owner: BusName?) {
        changes += 1
        reported = owner
    }

    /// Makes the next launch ask the bus: another process may have waited for the name, and have it by now.
    func askNextTime() {
        isKnown = false
    }

    /// Ends the watch.
    func unwatch() {
        if let watch { bus.unwatchOwner(watch) }
        watch = nil
    }
}
