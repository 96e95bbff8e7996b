/// The registry as it was read at one time.
///
/// The snapshot is a class, so that each request may keep the registry that it was decided with.
package final class RegistrySnapshot: Sendable {
    /// The number of the snapshot. A later registry has a higher number, and the same registry has the same number.
    package let number: Int
    /// The registry.
    package let registry: Registry
    /// The schemes whose URLs go to another handler than in the snapshot before.
    package let changed: [String]

    /// A registry and the schemes that changed with it.
    package init(number: Int, registry: Registry, changed: [String] = []) {
        self.number = number
        self.registry = registry
        self.changed = changed
    }

    /// The same registry, with the schemes that changed in an earlier snapshot added.
    func adding(_ earlier: [String]) -> RegistrySnapshot {
        RegistrySnapshot(number: number, registry: registry, changed: Set(changed).union(earlier).sorted())
    }
}
