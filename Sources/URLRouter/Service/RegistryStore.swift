public import SchemeRegistry

/// The registry's files. Reading and writing them blocks, so it happens here and not on the router's event loop.
public actor RegistryStore {
    private let directories: RegistryDirectories
    /// What the directories held when they were read last.
    public private(set) var registry: Registry

    /// Reads the directories.
    public init(_ directories: RegistryDirectories) {
        self.directories = directories
        registry = Registry(loading: directories)
    }

    /// Reads the directories again.
    func reload() -> Registry {
        registry = Registry(loading: directories)
        return registry
    }

    /// Registers a bundle or a manifest and reads the directories again.
    func register(_ path: String) throws(RegistrationError) -> (Registration, Registry) {
        let registration = try directories.register(path, in: registry)
        return (registration, reload())
    }

    /// Takes a registration back and reads the directories again.
    func unregister(_ id: BundleIdentifier) throws(UnregistrationError) -> Registry {
        try directories.unregister(id, from: registry)
        return reload()
    }
}
