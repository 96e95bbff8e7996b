internal import DBus
internal import SchemeRegistry

/// The handlers that the router knows now: those of the files, and those that the router has in memory.
///
/// The object belongs to the router's actor.
final class KnownHandlers {
    /// The handlers of the files, and those in memory.
    private(set) var snapshot: RegistrySnapshot
    /// The handlers of the files only.
    private var declared: RegistrySnapshot
    /// The handlers in memory.
    let temporary: TemporaryHandlers
    private let bus: any RouterSignals
    /// Called after each change.
    private let changed: () -> Void

    init(_ registry: Registry, _ bus: any RouterSignals, limit: Int, changed: @escaping () -> Void) {
        self.bus = bus
        declared = RegistrySnapshot(number: 0, registry: registry)
        snapshot = declared
        temporary = TemporaryHandlers(limit: limit)
        self.changed = changed
    }

    var registry: Registry { snapshot.registry }

    /// Uses another registry of the files from now on; running handlers continue. A stale snapshot is ignored.
    ///
    /// - Returns: the schemes whose URLs go to another handler than before, to be announced. After a stale snapshot they are
    ///   the changes recorded when it was read.
    func use(_ snapshot: RegistrySnapshot) -> [String] {
        if snapshot.number > declared.number {
            declared = snapshot
            temporary.forgetRegistrations(of: snapshot.registry.handlers)
            combine()
        }
        return snapshot.changed
    }

    /// Changes the handlers in memory, and announces the change.
    func changeTemporary<Failure>(_ body: (TemporaryHandlers) throws(Failure) -> Void) throws(Failure) {
        let before = registry
        try body(temporary)
        combine()
        let schemes = Set(before.temporarySchemes + registry.temporarySchemes)
        announce(registry.schemes(schemes, withWinnersOtherThanIn: before).map(\.rawValue))
    }

    /// Tells the subscribers that schemes go to other handlers than before.
    func announce(_ schemes: [String]) {
        if !schemes.isEmpty { bus.announce(changed: schemes) }
    }

    private func combine() {
        let combined = declared.registry.adding(temporary.handlers(apartFrom: declared.registry))
        snapshot = RegistrySnapshot(number: declared.number, registry: combined)
        changed()
    }
}
