public import SchemeRegistry

/// The registry as it was read at one time.
struct RegistrySnapshot: Sendable {
    /// Later ones have higher numbers.
    let number: Int
    let registry: Registry
}

/// The registry's files. Reading and writing them blocks, so it happens on the threads that are there for work and not on the
/// router's event loop, even for a task that prefers the loop.
public actor RegistryStore {
    private let directories: RegistryDirectories
    private var number = 0
    /// What the directories held when they were read last.
    public private(set) var registry: Registry

    /// Reads the directories.
    public init(_ directories: RegistryDirectories) {
        self.directories = directories
        registry = Registry(loading: directories)
    }

    /// Reads the directories again.
    nonisolated func reload() async -> RegistrySnapshot {
        await withTaskExecutorPreference(globalConcurrentExecutor) { await read() }
    }

    /// Registers a bundle or a manifest and reads the directories again.
    nonisolated func register(_ path: String) async throws(RegistrationError) -> (Registration, RegistrySnapshot) {
        let result: Result<(Registration, RegistrySnapshot), RegistrationError> =
            await withTaskExecutorPreference(globalConcurrentExecutor) { await add(path) }
        return try result.get()
    }

    /// Takes a registration back and reads the directories again.
    nonisolated func unregister(_ id: BundleIdentifier) async throws(UnregistrationError) -> RegistrySnapshot {
        let result: Result<RegistrySnapshot, UnregistrationError> =
            await withTaskExecutorPreference(globalConcurrentExecutor) { await remove(id) }
        return try result.get()
    }

    private func read() -> RegistrySnapshot {
        registry = Registry(loading: directories)
        number += 1
        return RegistrySnapshot(number: number, registry: registry)
    }

    private func add(_ path: String) -> Result<(Registration, RegistrySnapshot), RegistrationError> {
        do throws(RegistrationError) {
            return .success((try directories.register(path, in: registry), read()))
        } catch {
            return .failure(error)
        }
    }

    private func remove(_ id: BundleIdentifier) -> Result<RegistrySnapshot, UnregistrationError> {
        do throws(UnregistrationError) {
            try directories.unregister(id, from: registry)
            return .success(read())
        } catch {
            return .failure(error)
        }
    }
}
