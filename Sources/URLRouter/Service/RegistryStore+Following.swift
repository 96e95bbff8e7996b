public import DBus
internal import Logging
internal import OpenURLBus
public import SchemeRegistry

extension RegistryStore {
    /// Keeps a router's registry and policy up to date with the files from now on, and announces the schemes whose URLs go to
    /// another handler than before.
    public func keepCurrent(_ router: URLRouter, announcingOn connection: Connection) async {
        watch(await router.policyPaths) { await router.readPolicy() }
        follow { [isPublishing] snapshot in
            let schemes = await router.use(snapshot)
            if isPublishing { await router.makeServicesActivatable() }
            await router.announceChanges(of: schemes)
        }
    }
}
