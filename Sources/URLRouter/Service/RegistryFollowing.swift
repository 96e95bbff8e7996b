public import DBus
internal import Logging
internal import OpenURLBus
public import SchemeRegistry

extension RegistryStore {
    /// Keeps a router's registry as the files are, from now on, and announces the schemes that go elsewhere.
    public func keepCurrent(_ router: URLRouter, announcingOn connection: Connection) {
        follow { snapshot in
            let schemes = await router.use(snapshot)
            guard !schemes.isEmpty else { return }
            do throws(CallError) {
                try await connection.emit(RegistryInterface.changed, from: RouterService.path, schemes)
            } catch {
                router.log.error("a change of the registry is not announced: \(error)")
            }
        }
    }
}
