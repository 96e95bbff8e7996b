public import DBus
internal import Desktop
internal import Logging
internal import OpenURLBus
internal import Release
public import SchemeRegistry
internal import UserFiles

/// The router on the bus: the interfaces of `/org/openurl/Router1`, and the code behind each method.
public struct RouterObject: Sendable {
    let router: URLRouter
    private let store: RegistryStore
    let connection: Connection

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
            opening, registering, LifecycleObject.interface(router), QueueObject.interface(router),
            PolicyObject.interface(router), CallbackObject.interface(router), MonitorObject.interface(router),
            PushObject.interface(router), RelayObject.interface(router), TasksObject.interface(router),
            NotificationsObject.interface(router), HostsObject.interface(router), ProofsObject.interface(router),
            desktop,
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

    private var registering: ExportedInterface {
        ExportedInterface(
            RegistryInterface.name,
            [
                .method(RegistryInterface.register, of: router) { router, call, path in
                    try await register(path, isReplacing: false, call.sender, router)
                },
                .method(RegistryInterface.replace, of: router) { router, call, path in
                    try await register(path, isReplacing: true, call.sender, router)
                },
                .method(RegistryInterface.registerTemporarily, of: router) { router, call, path in
                    try await registerTemporarily(path, call.sender, router)
                },
                .method(RegistryInterface.claim, of: router) { router, call, input in
                    let (schemes, handler, program) = input.values
                    return try await claim(schemes, handler, program, call.sender, router)
                },
                .method(RegistryInterface.check, of: router) { router, _, text in try await check(text, router) },
                .method(RegistryInterface.unregister, of: router) { router, call, id in
                    try await unregister(id, call.sender, router)
                    return Empty()
                },
                .method(RegistryInterface.listHandlers, of: router) { router, call, _ in
                    try await router.callers.querying(call.sender) {
                        let limit = await router.callers.ownIdentifier(of: call.sender)
                        let entries = router.entries.all(await store.resources(), namingRivals: limit == nil)
                        guard let own = limit else { return HandlerEntry.fitting(entries) }
                        return entries.filter { $0.id == own }
                    }
                },
                .method(RegistryInterface.listSchemes, of: router) { router, call, _ in
                    try await router.callers.querying(call.sender) {
                        let registry = router.registry
                        var list = ListedTexts<[String]>()
                        for scheme in registry.schemes {
                            let claimants = registry.claimants(of: scheme)
                            list.add(claimants, for: scheme.rawValue, claimants)
                        }
                        if list.omitted > 0 { router.log.warning("\(list.omitted) schemes did not fit in the list") }
                        let schemes = list.elements
                        guard let own = await router.callers.ownIdentifier(of: call.sender) else { return schemes }
                        return schemes.compactMapValues { $0.contains(own) ? [own] : nil }
                    }
                },
                .method(RegistryInterface.setDefault, of: router) { router, _, input in
                    try await setDefault(input.values.0, input.values.1, router)
                    return Empty()
                },
                .method(RegistryInterface.reload, of: router) { router, _, _ in
                    let snapshot = await store.reloadAndPublish()
                    await router.use(snapshot, isPublishing: store.isPublishing)
                    var problems: [String: String] = [:]
                    for diagnostic in snapshot.registry.diagnostics + snapshot.registry.applications.diagnostics {
                        let problem = [diagnostic.key, diagnostic.reason].compactMap { $0 }.joined(separator: ": ")
                        problems[diagnostic.file] = problems[diagnostic.file].map { "\($0)\n\(problem)" } ?? problem
                    }
                    var list = ListedTexts<String>()
                    for (file, problem) in problems { list.add(problem, for: file, [problem]) }
                    if list.omitted > 0 {
                        router.log.warning("the problems of \(list.omitted) files did not fit in the list")
                    }
                    return list.elements
                },
                .signal(RegistryInterface.changed),
            ]
        )
    }

    private func register(_ path: String, isReplacing: Bool, _ caller: BusName?, _ router: isolated URLRouter)
        async throws -> HandlerEntry
    {
        let candidate = try await inspect(path, caller, router)
        let (registration, snapshot): (Registration, RegistrySnapshot)
        do throws(RegistrationError) {
            (registration, snapshot) = try await store.register(
                path,
                expecting: candidate,
                isReplacing: isReplacing
            )
        } catch {
            throw RemoteError(error)
        }
        if case .replaced(let other) = registration.change {
            let metadata = ["handler": "\(registration.handler.id)", "path": "\(printable(path))"]
            router.log.notice("a handler is replaced: \(printable(other))", metadata: metadata.mapValues { "\($0)" })
        }
        await router.use(snapshot, isPublishing: store.isPublishing)
        let id = registration.handler.id
        await router.provenLinks.endAll(of: id, except: router.registry[id]?.manifestPath)
        router.sessions[id]?.quarantine.forgetCrashes()
        var entry = router.entries.entry(registration.handler)
        var warnings = registration.warnings
        do throws(RegistrationError) {
            warnings = try await store.warnings(of: registration, searchPath: router.launcher.environment["PATH"])
        } catch {
            // The file system is no longer responding, but the handler is already registered.
        }
        entry.warnings = warnings.map(\.description) + Rivalries(of: registration.handler, in: snapshot.registry).all
        if let earlier = await router.lifecycle.earlierProgram(of: registration.handler) {
            entry.warnings.append(earlier)
        }
        return entry
    }

    private func registerTemporarily(_ path: String, _ caller: BusName?, _ router: isolated URLRouter) async throws
        -> HandlerEntry
    {
        let handler = try await inspect(path, caller, router)
        let before = router.registry
        try await router.temporary.register(handler, caller: caller)
        router.sessions[handler.id]?.quarantine.forgetCrashes()
        let registry = router.registry
        // By now, the handler's claims no longer include the fixed schemes.
        let registered = registry[handler.id] ?? handler
        var entry = router.entries.entry(registered)
        entry.warnings =
            (registry.diagnosticsByEntry[handler.entry] ?? []).map(\.description)
            + registry.hosts(takenBy: registered, from: before).map(\.description)
            + Rivalries(of: registered, in: registry).lost
        if let earlier = await router.lifecycle.earlierProgram(of: registered) { entry.warnings.append(earlier) }
        return entry
    }

    /// Reads a handler that is about to be registered, and checks that the caller may register it.
    private func inspect(_ path: String, _ caller: BusName?, _ router: isolated URLRouter) async throws -> Handler {
        let (handler, hasService): (Handler, Bool)
        do throws(RegistrationError) {
            (handler, hasService) = try await store.inspect(path)
        } catch {
            throw RemoteError(error)
        }
        // A handler may register only itself.
        try await router.callers.check(caller, for: handler.id.rawValue)
        do throws(RegistrationError) {
            try await router.services.checkName(of: handler, hasService: hasService)
        } catch {
            throw RemoteError(error)
        }
        return handler
    }

    private func claim(
        _ texts: [String],
        _ text: String,
        _ program: String,
        _ caller: BusName?,
        _ router: isolated URLRouter
    ) async throws -> HandlerEntry {
        guard let caller else { throw OpenURLError(.notAllowed, "only a program on the bus can claim schemes") }
        guard (1...RegistryInterface.schemesPerClaim).contains(texts.count) else {
            throw RemoteError(
                .invalidArguments,
                "a claim has 1 to \(RegistryInterface.schemesPerClaim) schemes, not \(texts.count)"
            )
        }
        var schemes: [Scheme] = []
        for text in texts {
            let scheme = try scheme(text)
            if !schemes.contains(scheme) { schemes.append(scheme) }
        }
        guard !program.isEmpty, program.utf8.count <= Self.programBytes, !program.utf8.contains(0) else {
            let reason = "the program has no name, or one of more than \(Self.programBytes) bytes"
            throw RemoteError(.invalidArguments, reason)
        }
        let running = Handler.Program(named: program)
        let handler = try await describe(text, running, router)
        try await router.temporary.claim(schemes, for: handler, running, caller: caller)
        return router.entries.entry(router.registry[handler.id] ?? handler)
    }

    /// Maximum size of a program's path, in bytes (`PATH_MAX`).
    private static let programBytes = 4096

    /// Describes the handler whose program is now running.
    ///
    /// - Parameter text: The identifier, or the absolute path of a bundle or manifest.
    private func describe(_ text: String, _ program: Handler.Program, _ router: isolated URLRouter) async throws
        -> Handler
    {
        let id = isAbsolute(text) ? nil : try identifier(text)
        if let id, let handler = router.handlers.temporary.registration(of: id) { return handler }
        do throws(RegistrationError) {
            guard let id else { return try await store.inspect(text).handler }
            return try await store.describe(id, running: program)
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
    }

    private func check(_ text: String, _ router: isolated URLRouter) async throws -> [ManifestFinding] {
        var path = text
        if !isAbsolute(text) {
            guard let entry = await store.entry(of: try identifier(text)) else {
                throw OpenURLError(unknownHandler: text)
            }
            path = entry
        }
        do throws(RegistrationError) {
            let (findings, handler) = try await store.check(path, searchPath: router.launcher.environment["PATH"])
            let rivals = handler.map { Rivalries(of: $0, in: router.registry).expected } ?? []
            return findings.map(ManifestFinding.init) + rivals.map { ManifestFinding(.warning, file: nil, message: $0) }
        } catch .missing(let path) {
            throw RemoteError(RegistrationError.missing(path))
        } catch {
            return [ManifestFinding(.error, file: nil, message: error.description)]
        }
    }

    private func unregister(_ text: String, _ caller: BusName?, _ router: isolated URLRouter) async throws {
        let id = try identifier(text)
        try await router.callers.check(caller, for: id.rawValue)
        if try router.temporary.unregister(id) { return }
        let snapshot: RegistrySnapshot
        do throws(UnregistrationError) {
            snapshot = try await store.unregister(id)
        } catch .unknown {
            throw OpenURLError(unknownHandler: id.rawValue)
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
        await router.use(snapshot, isPublishing: store.isPublishing)
        await router.provenLinks.endAll(of: id, except: router.registry[id]?.manifestPath)
        // A handler in a system directory may be in effect again, or the handler may have been registered again meanwhile.
        if router.registry[id] == nil { await router.scheduledTasks.endAll(of: id) }
        if router.registry[id] == nil { await router.localNotifications.cancelAll(of: id) }
        // This waits for distributors.
        if router.registry[id] == nil { await router.pushes.endAll(of: id) }
    }

    private func setDefault(_ scheme: String, _ id: String, _ router: isolated URLRouter) async throws {
        let snapshot: RegistrySnapshot
        do throws(DefaultError) {
            snapshot = try await store.setDefault(id, for: scheme)
        } catch .unknown {
            guard router.registry.handler(named: id) != nil else { throw OpenURLError(unknownHandler: id) }
            throw RemoteError(
                .invalidArguments,
                "\(id) is registered only temporarily; after 'openurl register PATH' it can be the default"
            )
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
        await router.use(snapshot, isPublishing: store.isPublishing)
    }
}

func identifier(_ text: String) throws(RemoteError) -> BundleIdentifier {
    do throws(BundleIdentifier.ParseError) {
        return try BundleIdentifier(text)
    } catch {
        throw RemoteError(.invalidArguments, "the bundle identifier \(error)")
    }
}

extension RemoteError {
    /// Creates the error for a failed registration. Its name distinguishes a missing file, a manifest with faults, and
    /// anything else.
    fileprivate init(_ error: RegistrationError) {
        let name: ErrorName =
            switch error {
            case .missing: .fileNotFound
            case .invalid, .notAHandler, .fixedHandler, .takenName: .invalidFileContent
            default: .invalidArguments
            }
        self.init(name, error.description)
    }
}

private func scheme(_ text: String) throws(RemoteError) -> Scheme {
    do throws(Scheme.ParseError) {
        return try Scheme(text)
    } catch {
        throw RemoteError(.invalidArguments, "the scheme '\(printable(text))' \(error)")
    }
}

extension ManifestFinding {
    fileprivate init(_ diagnostic: Diagnostic) {
        self.init(
            diagnostic.severity == .error ? .error : .warning,
            file: diagnostic.file,
            line: diagnostic.line.flatMap(UInt32.init(exactly:)),
            key: diagnostic.key,
            message: diagnostic.reason
        )
    }
}
