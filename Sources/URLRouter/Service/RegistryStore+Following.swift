public import SchemeRegistry

extension RegistryStore {
    /// From now on, keeps a router's registry, rules and other hosts up to date with the files. Announces each scheme
    /// whose URLs now go to a different handler than before.
    public func keepCurrent(_ router: URLRouter) async {
        watch(await router.configurationPaths) { await router.readConfiguration() }
        follow { [isPublishing] in await router.use($0, isPublishing: isPublishing) }
    }
}
