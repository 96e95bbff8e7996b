internal import DBus

/// The owner of a handler's name, as the bus reports it.
///
/// This belongs to the router's actor.
final class NameOwner {
    private let id: BusName
    private let bus: any BusNames
    /// Reports a change of owner to the handler's session.
    private let changed: @Sendable (_ id: BusName, _ owner: BusName?) -> Void
    /// The watch on the name; nil until the owner is asked for.
    private var watch: NameWatchID?
    /// The last owner that the bus has reported since it began to watch the name.
    private var reported: BusName?
    /// Whether the bus has reported the owner, and reports every change, so that a launch need not ask.
    private var isKnown = false
    /// Number of changes. It tells a task that has asked the bus about an owner whether the answer may be stale.
    private(set) var changes = 0

    init(_ id: BusName, _ shared: SharedParts) {
        self.id = id
        bus = shared.bus
        changed = shared.ownerChanged
    }

    /// Whether the bus reports changes.
    var isWatched: Bool { watch != nil }

    /// Finds the owner. From then on, the session is told about every change.
    ///
    /// - Parameter isForLaunch: whether the owner is looked for in order to launch the handler; called once the bus
    ///   watches the name. For a launch, it is enough to know the changes that the bus has reported: the bus's answer
    ///   would come after all calls that have arrived in the meantime, and would be no newer. But if a process has
    ///   exited, it may have just lost the name to another one, and only an answer makes this certain.
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
            // Changes are reported immediately, but the answer arrives only when this task continues. So the answer may
            // be the older of the two.
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

    /// Makes the next launch ask the bus, because another process may have been waiting for the name and may own it by
    /// now.
    func askNextTime() {
        isKnown = false
    }

    func unwatch() {
        if let watch { bus.unwatchOwner(watch) }
        watch = nil
    }
}
