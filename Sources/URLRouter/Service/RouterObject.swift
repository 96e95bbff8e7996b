public import DBus
internal import Desktop
internal import Logging
internal import OpenURLBus
internal import Release
public import SchemeRegistry

/// The router on the bus: the interfaces of `/org/openurl/Router1`.
public struct RouterObject: Sendable {
    private let router: URLRouter
    private let store: RegistryStore
    private let connection: Connection

    /// Connects a router, its registry and its connection.
    public init(_ router: URLRouter, _ store: RegistryStore, _ connection: Connection) {
        self.router = router
        self.store = store
        self.connection = connection
    }

    /// Exports the interfaces. Request the name only after that.
    public func export() async {
        do throws(CallError) {
            try await connection.followConnections { [weak router] name, owner in
                guard owner != nil else { return }
                router?.assumeIsolated {
                    $0.sessions.nameAppeared(name, in: $0.registry)
                    $0.pushes.distributorAppeared(name)
                    $0.hosts.nameAppeared(name)
                }
            }
        } catch {
            router.log.warning("the bus cannot report when connections end: \(error)")
        }
        await connection.export(interfaces, at: RouterService.path)
        await connection.export(PushObject.connectors(router), at: UnifiedPush.connectorPath)
        await connection.exportSubtree(
            checked([RequestObject.interface(router), CallbackObject.handleInterface(router)]),
            below: RequestInterface.root
        )
        await router.publishCallbacks { [store] schemes, number in await store.publishCallbacks(schemes, number) }
    }

    /// The router's interfaces, which check the caller's rights before each method that is not open to every caller.
    var interfaces: [ExportedInterface] {
        checked([
            opening, RegistryObject.interface(router, store), LifecycleObject.interface(router),
            QueueObject.interface(router), PolicyObject.interface(router), CallbackObject.interface(router),
            MonitorObject.interface(router), PushObject.interface(router), RelayObject.interface(router),
            TasksObject.interface(router), NotificationsObject.interface(router), HostsObject.interface(router),
            ProofsObject.interface(router), desktop,
        ])
    }

    private func checked(_ interfaces: [ExportedInterface]) -> [ExportedInterface] {
        interfaces.map { [router] interface in
            interface.checked { method in
                if Rights.table[interface.name]?[method]?.needNoCheck == true { return nil }
                return { call in try await router.check(call.sender, of: method, interface.name) }
            }
        }
    }

    /// Maximum number of URLs in one call.
    private static let urlsPerCall = 4096

    private var opening: ExportedInterface {
        ExportedInterface(
            RouterInterface.name,
            [
                .method(RouterInterface.openURL, of: router) { router, call, input in
                    try await router.openCalls.openURL(
                        input.url,
                        input.options,
                        caller: call.sender,
                        bytes: call.argumentBytes,
                        abandon: call.cancelTask
                    )
                },
                .method(RouterInterface.call, of: router) { router, call, input in
                    let bytes = call.argumentBytes
                    return try await router.calls.call(input.url, input.options, caller: call.sender, bytes: bytes)
                },
                .method(RouterInterface.open, of: router) { router, call, url in
                    try await router.openCalls.openURL(url, OpenOptions(), caller: call.sender).handler
                },
                .method(RouterInterface.openURLs, of: router) { router, call, input in
                    try await Self.open(input.values.0, input.values.1, call, router)
                },
                .method(RouterInterface.openFiles, of: router) { router, call, input in
                    let (files, options) = input.values
                    let bytes = call.argumentBytes
                    return try await router.inboxOpener.openFiles(files, options, caller: call.sender, bytes: bytes)
                },
                .method(RouterInterface.canOpenURL, of: router) { router, call, url in
                    try await router.explainer.canOpen(url, caller: call.sender)
                },
                .method(RouterInterface.explain, of: router) { router, call, input in
                    try await router.callers.querying(call.sender) {
                        try await router.explainer.explain(input.values.0, input.values.1, caller: call.sender)
                    }
                },
                .method(RouterInterface.subscribe, of: router) { router, call, _ in
                    try await router.subscriptions.add(call.sender)
                    return Empty()
                },
                .method(RouterInterface.unsubscribe, of: router) { router, call, _ in
                    router.subscriptions.remove(call.sender)
                    return Empty()
                },
                .property(RouterInterface.version, emitsChange: .constant) { Version.current },
            ]
        )
    }

    private static func open(
        _ urls: [String],
        _ options: OpenOptions,
        _ call: IncomingCall,
        _ router: isolated URLRouter
    ) async throws -> [OpenOutcome] {
        guard urls.count <= urlsPerCall else {
            throw OpenURLError(.limitsExceeded, "more than \(urlsPerCall) URLs in one call")
        }
        return try await router.openCalls.openURLs(
            urls,
            options,
            caller: call.sender,
            bytes: call.argumentBytes,
            abandon: call.cancelTask
        )
    }

    /// The interface that the desktop calls if a desktop entry refers to the router.
    private var desktop: ExportedInterface {
        ExportedInterface(
            FreedesktopApplication.name,
            [
                // There is no window to show.
                .method(FreedesktopApplication.activate) { _, _ in Empty() },
                .method(FreedesktopApplication.activateAction) { _, _ in
                    throw RemoteError(.notSupported, "the router has no actions")
                },
                .method(FreedesktopApplication.open, of: router) { router, call, input in
                    let (urls, platformData) = input.values
                    // Every URL is tried, and the first failure is the answer.
                    var options = FreedesktopApplication.options(platformData)
                    options.desktopEntry = DesktopFileID.text(ofName: RouterService.name.rawValue)
                    for outcome in try await Self.open(urls, options, call, router) {
                        if case .failed(let error) = outcome { throw error }
                    }
                    return Empty()
                },
            ]
        )
    }
}
