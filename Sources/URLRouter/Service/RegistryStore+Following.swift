public import DBus
internal import OpenURLBus
public import SchemeRegistry

extension RegistryStore {
    /// Keeps a router's registry and policy up to date with the files from now on. Announces each scheme whose URLs go
    /// to a different handler than before.
    public func keepCurrent(_ router: URLRouter, announcingOn connection: Connection) async {
        watch(await router.policyPaths) { await router.readRules() }
        follow { [isPublishing] in await router.use($0, isPublishing: isPublishing) }
    }
}
