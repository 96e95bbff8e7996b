internal import DBus
internal import SchemeRegistry

/// The handlers that the router knows now, from files and in memory.
///
/// It belongs to the router's actor.
final class KnownHandlers {
    /// Handlers from files and in memory.
    private(set) var snapshot: RegistrySnapshot
    /// Handlers from files only.
    private var declared: RegistrySnapshot
    /// Handlers in memory.
    let temporary: TemporaryHandlers
    private let signals: any RouterSignals
    /// Called after each change, with the registry from before.
    private let changed: (_ earlier: Registry) -> Void

    init(_ registry: Registry, _ signals: any RouterSignals, limit: Int, changed: @escaping (Registry) -> Void) {
        self.signals = signals
        declared = RegistrySnapshot(number: 0, registry: registry)
        snapshot = declared
        temporary = TemporaryHandlers(limit: limit)
        self.changed = changed
    }

    var registry: Registry { snapshot.registry }

    /// Replaces the registry of handlers from files; running handlers continue. If the snapshot is stale, it is
    /// ignored.
    ///
    /// - Returns: The schemes to announce: those whose URLs now go to another handler. If the snapshot is stale, these
    ///   are the changes that were recorded when it was read.
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

    /// Announces to the subscribers that schemes now go to other handlers.
    func announce(_ schemes: [String]) {
        if !schemes.isEmpty { signals.announce(changed: schemes) }
    }

    private func combine() {
        let earlier = registry
        let combined = declared.registry.adding(temporary.handlers(apartFrom: declared.registry))
        snapshot = RegistrySnapshot(number: declared.number, registry: combined)
        changed(earlier)
    }
}
