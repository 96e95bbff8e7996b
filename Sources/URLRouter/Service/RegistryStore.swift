public import Reactor
public import SchemeRegistry

/// The registry as it was read at one time.
struct RegistrySnapshot: Sendable {
    /// Later ones have higher numbers.
    let number: Int
    let registry: Registry
}

/// The registry's files. Reading and writing them blocks, so it has a thread of its own, which is not the router's.
public actor RegistryStore {
    private let directories: RegistryDirectories
    private let loop: EventLoop
    private var number = 0
    private var registry: Registry

    /// The store's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Takes what the directories hold.
    ///
    /// - Parameters:
    ///   - registry: what was read from the directories.
    ///   - loop: whose thread may be blocked; nothing else waits there.
    public init(_ directories: RegistryDirectories, _ registry: Registry, on loop: EventLoop) {
        self.directories = directories
        self.registry = registry
        self.loop = loop
    }

    /// Reads the directories again.
    func reload() -> RegistrySnapshot {
        registry = Registry(loading: directories)
        number += 1
        return RegistrySnapshot(number: number, registry: registry)
    }

    /// Registers a bundle or a manifest and reads the directories again.
    func register(_ path: String) throws(RegistrationError) -> (Registration, RegistrySnapshot) {
        (try directories.register(path, in: registry), reload())
    }

    /// Takes a registration back and reads the directories again.
    func unregister(_ id: BundleIdentifier) throws(UnregistrationError) -> RegistrySnapshot {
        try directories.unregister(id, from: registry)
        return reload()
    }
}
