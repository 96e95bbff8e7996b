/// The registry as it was read at one time.
///
/// It is a class so that each request can keep the registry that decided it.
package final class RegistrySnapshot: Sendable {
    /// The snapshot's number. A later registry has a higher one; an unchanged registry keeps its number.
    package let number: Int
    /// The registry.
    package let registry: Registry
    /// Schemes whose URLs go to a different handler than in the previous snapshot.
    package let changed: [String]

    /// Creates a snapshot of a registry, with the schemes that changed with it.
    package init(number: Int, registry: Registry, changed: [String] = []) {
        self.number = number
        self.registry = registry
        self.changed = changed
    }

    /// Returns the same registry, and adds the schemes that changed in an earlier snapshot.
    func adding(_ earlier: [String]) -> RegistrySnapshot {
        RegistrySnapshot(number: number, registry: registry, changed: Set(changed).union(earlier).sorted())
    }
}
