public import DBus
internal import Desktop
internal import Logging
internal import OpenURLBus
internal import Release
public import SchemeRegistry
internal import UserFiles

/// The router on the bus: the interfaces of `/org/openurl/Router1`, and the code behind each method.
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

    /// Exports the interfaces. Request the name after that.
    public func export() async {
        do throws(CallError) {
            try await connection.followConnections()
        } catch {
            router.log.warning("the bus does not tell the end of connections: \(error)")
        }
        await connection.export(interfaces, at: RouterService.path)
        await connection.exportSubtree(
            checked([RequestObject.interface(router), CallbackObject.handleInterface(router)]),
            below: RequestInterface.root
        )
        await router.publishCallbacks { [store] schemes, number in await store.publishCallbacks(schemes, number) }
    }

    /// The interfaces, with the check of the caller's rights before each method.
    var interfaces: [ExportedInterface] {
        checked([
            opening, registering, LifecycleObject.interface(router), QueueObject.interface(router),
            PolicyObject.interface(router), CallbackObject.interface(router), MonitorObject.interface(router), desktop,
        ])
    }

    private func checked(_ interfaces: [ExportedInterface]) -> [ExportedInterface] {
        interfaces.map { [router] in
            let name = $0.name
            return $0.checked { call, method in try await router.check(call.sender, of: method, name) }
        }
    }

    /// The number of URLs in one call.
    private static let urlsPerCall = 4096
    private static var tooManyURLs: OpenURLError {
        OpenURLError(.limitsExceeded, "more than \(urlsPerCall) URLs in one call")
    }

    private var opening: ExportedInterface {
        ExportedInterface(
            RouterInterface.name,
            [
                .method(RouterInterface.openURL) { [router] call, input in
                    try await router.openURL(
                        input.values.0,
                        input.values.1,
                        caller: call.sender,
                        bytes: call.argumentBytes,
                        abandon: call.cancelTask
                    )
                },
                .method(RouterInterface.call) { [router] call, input in
                    let (url, options) = input.values
                    return try await router.call(url, options, caller: call.sender, bytes: call.argumentBytes)
                },
                .method(RouterInterface.open) { [router] call, url in
                    try await router.open(url, OpenOptions(), caller: call.sender).handler
                },
                .method(RouterInterface.openURLs) { call, input in
                    guard input.values.0.count <= Self.urlsPerCall else { throw Self.tooManyURLs }
                    return try await open(input.values.0, input.values.1, call)
                },
                .method(RouterInterface.openFiles) { [router] call, input in
                    let (files, options) = input.values
                    return try await router.openFiles(files, options, caller: call.sender, bytes: call.argumentBytes)
                },
                .method(RouterInterface.canOpenURL) { [router] call, url in
                    try await router.canOpen(url, caller: call.sender)
                },
                .method(RouterInterface.explain) { [router] call, input in
                    try await router.querying(call.sender) {
                        try await router.explain(input.values.0, input.values.1, caller: call.sender)
                    }
                },
                .method(RouterInterface.subscribe) { [router] call, _ in
                    try await router.subscribe(call.sender)
                    return Empty()
                },
                .method(RouterInterface.unsubscribe) { [router] call, _ in
                    await router.unsubscribe(call.sender)
                    return Empty()
                },
                .property(RouterInterface.version, emitsChange: .constant) { Version.current },
            ]
        )
    }

    private func open(_ urls: [String], _ options: OpenOptions, _ call: IncomingCall) async throws -> [OpenOutcome] {
        try await router.openURLs(
            urls,
            options,
            caller: call.sender,
            bytes: call.argumentBytes,
            abandon: call.cancelTask
        )
    }

    /// The interface that the desktop calls if a desktop entry names the router.
    private var desktop: ExportedInterface {
        ExportedInterface(
            FreedesktopApplication.name,
            [
                // The router has no window to show.
                .method(FreedesktopApplication.activate) { _, _ in Empty() },
                .method(FreedesktopApplication.activateAction) { _, _ in
                    throw RemoteError(.notSupported, "the router has no actions")
                },
                .method(FreedesktopApplication.open) { call, input in
                    let (urls, platformData) = input.values
                    guard urls.count <= Self.urlsPerCall else { throw Self.tooManyURLs }
                    // Every URL is tried; the first failure is the answer.
                    var options = FreedesktopApplication.options(platformData)
                    options.desktopEntry = "\(RouterService.name).desktop"
                    for outcome in try await open(urls, options, call) {
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
                .method(RegistryInterface.register) { call, path in
                    try await register(path, isReplacing: false, call.sender)
                },
                .method(RegistryInterface.replace) { call, path in
                    try await register(path, isReplacing: true, call.sender)
                },
                .method(RegistryInterface.registerTemporarily) { call, path in
                    try await registerTemporarily(path, call.sender)
                },
                .method(RegistryInterface.claim) { call, input in
                    let (schemes, handler, program) = input.values
                    return try await claim(schemes, handler, program, call.sender)
                },
                .method(RegistryInterface.check) { _, text in try await check(text) },
                .method(RegistryInterface.unregister) { call, id in
                    try await unregister(id, call.sender)
                    return Empty()
                },
                .method(RegistryInterface.listHandlers) { [router] call, _ in
                    try await router.querying(call.sender) {
                        let entries = await router.entries(await store.resources())
                        guard let own = await router.ownIdentifier(of: call.sender) else { return entries }
                        return entries.filter { $0.id == own }
                    }
                },
                .method(RegistryInterface.listSchemes) { [router] call, _ in
                    try await router.querying(call.sender) {
                        let registry = await router.registry
                        var schemes: [String: [String]] = [:]
                        for scheme in registry.schemes {
                            schemes[scheme.rawValue] = registry.claimants(of: scheme)
                        }
                        guard let own = await router.ownIdentifier(of: call.sender) else { return schemes }
                        return schemes.compactMapValues { $0.contains(own) ? [own] : nil }
                    }
                },
                .method(RegistryInterface.setDefault) { _, input in
                    try await setDefault(input.values.0, input.values.1)
                    return Empty()
                },
                .method(RegistryInterface.reload) { _, _ in
                    let snapshot = await store.reloadAndPublish()
                    try await use(snapshot)
                    var problems: [String: String] = [:]
                    for diagnostic in snapshot.registry.diagnostics + snapshot.registry.applications.diagnostics {
                        let problem = [diagnostic.key, diagnostic.reason].compactMap { $0 }.joined(separator: ": ")
                        problems[diagnostic.file] = problems[diagnostic.file].map { "\($0)\n\(problem)" } ?? problem
                    }
                    return problems
                },
                .signal(RegistryInterface.changed),
            ]
        )
    }

    private func register(_ path: String, isReplacing: Bool, _ caller: BusName?) async throws -> HandlerEntry {
        let candidate = try await inspect(path, caller)
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
        try await use(snapshot)
        await router.forgetCrashes(of: registration.handler)
        var entry = await router.entry(registration.handler)
        var warnings = registration.warnings
        do throws(RegistrationError) {
            warnings = try await store.warnings(of: registration, searchPath: await router.searchPath)
        } catch {
            // The file system answers no more; the registration itself is done.
        }
        entry.warnings = warnings.map(\.description) + snapshot.registry.rivalries(of: registration.handler)
        if let earlier = await router.earlierProgram(of: registration.handler) { entry.warnings.append(earlier) }
        return entry
    }

    private func registerTemporarily(_ path: String, _ caller: BusName?) async throws -> HandlerEntry {
        let handler = try await inspect(path, caller)
        let before = await router.registry
        let changed = try await router.registerTemporarily(handler, caller: caller)
        await router.announceChanges(of: changed)
        await router.forgetCrashes(of: handler)
        let registry = await router.registry
        // The fixed schemes are gone from the claims of the registered handler.
        let registered = registry[handler.id] ?? handler
        var entry = await router.entry(registered)
        entry.warnings =
            registry.diagnostics.filter { $0.file.hasPrefix(handler.entry) }.map(\.description)
            + registry.hosts(takenBy: registered, from: before).map(\.description)
            + registry.temporaryRivalries(of: registered)
        if let earlier = await router.earlierProgram(of: registered) { entry.warnings.append(earlier) }
        return entry
    }

    /// Reads a handler that is about to be registered, and checks that the caller may register it.
    private func inspect(_ path: String, _ caller: BusName?) async throws -> Handler {
        let (handler, hasService): (Handler, Bool)
        do throws(RegistrationError) {
            (handler, hasService) = try await store.inspect(path)
        } catch {
            throw RemoteError(error)
        }
        // A handler may register nothing but itself.
        try await router.check(caller, for: handler.id.rawValue)
        do throws(RegistrationError) {
            try await router.checkName(of: handler, hasService: hasService)
        } catch {
            throw RemoteError(error)
        }
        return handler
    }

    private func claim(
        _ texts: [String],
        _ text: String,
        _ program: String,
        _ caller: BusName?
    ) async throws -> HandlerEntry {
        guard let caller else { throw OpenURLError(.notAllowed, "a claim belongs to a connection on a bus") }
        guard (1...RegistryInterface.schemesPerClaim).contains(texts.count) else {
            throw RemoteError(
                .invalidArguments,
                "a claim has 1 to \(RegistryInterface.schemesPerClaim) schemes, and not \(texts.count)"
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
        let handler = try await describe(text, running)
        let changed = try await router.claim(schemes, for: handler, running, caller: caller)
        await router.announceChanges(of: changed)
        return await router.entry(await router.registry[handler.id] ?? handler)
    }

    /// The number of bytes in the path of a program (`PATH_MAX`).
    private static let programBytes = 4096

    /// Describes the handler whose program runs now.
    ///
    /// - Parameter text: the identifier, or the absolute path of a bundle or manifest.
    private func describe(_ text: String, _ program: Handler.Program) async throws -> Handler {
        let id = isAbsolute(text) ? nil : try identifier(text)
        if let id, let handler = await router.temporary(id) { return handler }
        do throws(RegistrationError) {
            guard let id else { return try await store.inspect(text).handler }
            return try await store.describe(id, running: program)
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
    }

    private func check(_ text: String) async throws -> [ManifestFinding] {
        var path = text
        if !isAbsolute(text) {
            guard let entry = await store.entry(of: try identifier(text)) else {
                throw OpenURLError(unknownHandler: text)
            }
            path = entry
        }
        do throws(RegistrationError) {
            let (findings, handler) = try await store.check(path, searchPath: await router.searchPath)
            let rivals = await router.registry.rivals(of: handler)
            return findings.map(ManifestFinding.init) + rivals.map { ManifestFinding(.warning, file: nil, message: $0) }
        } catch .missing(let path) {
            throw RemoteError(RegistrationError.missing(path))
        } catch {
            return [ManifestFinding(.error, file: nil, message: error.description)]
        }
    }

    private func unregister(_ text: String, _ caller: BusName?) async throws {
        let id = try identifier(text)
        try await router.check(caller, for: id.rawValue)
        if let changed = try await router.unregisterTemporary(id) { return await router.announceChanges(of: changed) }
        let snapshot: RegistrySnapshot
        do throws(UnregistrationError) {
            snapshot = try await store.unregister(id)
        } catch .unknown {
            throw OpenURLError(unknownHandler: id.rawValue)
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
        try await use(snapshot)
    }

    private func setDefault(_ scheme: String, _ id: String) async throws {
        let snapshot: RegistrySnapshot
        do throws(DefaultError) {
            snapshot = try await store.setDefault(id, for: scheme)
        } catch .unknown {
            guard await router.registry.handler(named: id) != nil else { throw OpenURLError(unknownHandler: id) }
            throw RemoteError(
                .invalidArguments,
                "\(id) is there for a while only; 'openurl register PATH' keeps it, and then it can be the default"
            )
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
        try await use(snapshot)
    }

    private func use(_ snapshot: RegistrySnapshot) async throws {
        let schemes = await router.use(snapshot)
        if store.isPublishing { await router.makeServicesActivatable() }
        await router.announceChanges(of: schemes)
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
    /// The error of a registration, with a name that tells a missing file, a manifest with faults, and anything else.
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

extension Registry {
    /// A sentence for each claim that stands in the way of a handler that is not registered yet.
    fileprivate func rivals(of handler: Handler?) -> [String] {
        guard let handler, self[handler.id]?.path != handler.path else { return [] }
        let other = self[handler.id].map { "\(handler.id) is registered already, as \($0.path)" }
        return [other].compactMap { $0 }
            + handler.schemes.compactMap { scheme in
                guard let winner = claimants(of: scheme).first, winner != handler.id.rawValue else { return nil }
                return
                    "\(scheme): \(winner) has the scheme already, and keeps it until 'openurl default' says otherwise"
            }
    }

    /// A sentence for each scheme of a handler that others claim too.
    fileprivate func rivalries(of handler: Handler) -> [String] {
        handler.schemes.compactMap { scheme in
            let claimants = claimants(of: scheme)
            guard claimants.count > 1 else { return nil }
            let others = "\(claimants.dropFirst().joined(separator: ", ")) \(claimants.count > 2 ? "claim" : "claims")"
            let sentence = "\(scheme): goes to \(claimants[0]); \(others) it too"
            guard claimants[0] != handler.id.rawValue else { return sentence }
            if runningClaimant(of: scheme) != nil { return "\(sentence); the claim ends with its program" }
            if handler.isTemporary { return sentence }
            return "\(sentence); 'openurl default \(scheme) \(handler.id)' chooses this handler"
        } + fileRivalries(of: handler)
    }

    /// A sentence for each scheme of a handler that is registered for a while and that others claim too.
    fileprivate func temporaryRivalries(of handler: Handler) -> [String] {
        handler.schemes.compactMap { scheme in
            guard let winner = claimants(of: scheme).first, winner != handler.id.rawValue else { return nil }
            return "\(scheme): goes to \(winner); 'openurl --handler \(handler.id) URL' opens a URL with this handler"
        }
    }

    /// A sentence for each claimant that gets files of a handler's types instead of the handler.
    private func fileRivalries(of handler: Handler) -> [String] {
        var types: [String: [MimeType]] = [:]
        for type in handler.fileTypes {
            let file = FileKind(FileTypeGuess(type: type, isByName: true), name: "")
            guard let winner = winner(for: file), winner.id != handler.id.rawValue else { continue }
            types[winner.id, default: []].append(type)
        }
        return types.sorted { $0.key < $1.key }.map { winner, types in
            let rest = types.count > 3 ? " and \(types.count - 3) more types" : ""
            let named = types.prefix(3).map(\.rawValue).joined(separator: ", ")
            let choice = "'openurl default \(types[0]) \(handler.id)' chooses this handler"
            return "files of \(named)\(rest) go to \(winner); \(choice)"
        }
    }
}

extension URLRouter {
    /// The description of a handler that is registered for a while.
    fileprivate func temporary(_ id: BundleIdentifier) -> Handler? { temporary.registration(of: id) }

    /// The value of `PATH` for a launch.
    fileprivate var searchPath: String? { launcher.environment["PATH"] }

    /// Forgets the crashes of a handler that was registered again: the user may have repaired it.
    fileprivate func forgetCrashes(of handler: Handler) {
        sessions[handler.id]?.forgetCrashes()
    }

    /// The list of the registry's interface: every handler with its state, and every application that opens URLs.
    fileprivate func entries(_ resources: [BundleIdentifier: BundleResources]) -> [HandlerEntry] {
        let diagnostics = registry.diagnostics
        let handlers = registry.handlers.map { handler in
            var entry = entry(handler)
            entry.warnings =
                diagnostics.filter { $0.file == handler.entry || $0.file.hasPrefix("\(handler.entry)/") }
                .map(\.description) + registry.rivalries(of: handler)
            if let resources = resources[handler.id] {
                entry.name = resources.name ?? entry.name
                entry.urlNames = resources.urlNames
                entry.launchImage = resources.launchImage() ?? ""
                entry.warnings += resources.diagnostics.map(\.description)
            }
            return entry
        }
        return handlers + registry.applications.all.compactMap(entry)
    }

    /// `nil` for an application that opens no URLs.
    private func entry(_ application: DesktopEntry) -> HandlerEntry? {
        let schemes = registry.applications.schemes(of: application.id)
        guard !schemes.isEmpty else { return nil }
        var entry = HandlerEntry(
            id: application.id.rawValue,
            name: application.name,
            executable: application.command?.program ?? "",
            schemes: schemes.map(\.rawValue),
            kind: .known(HandlerKind(Claimant.application(application).kind)),
            isFixed: false,
            state: .absent,
            warnings: []
        )
        entry.desktopEntry = application.file
        return entry
    }

    fileprivate func entry(_ handler: Handler) -> HandlerEntry {
        var entry = HandlerEntry(
            id: handler.id.rawValue,
            name: handler.name,
            executable: handler.program?.description ?? "",
            schemes: handler.schemes.map(\.rawValue),
            kind: .known(HandlerKind(handler.kind)),
            isFixed: handler.isFixed,
            state: .known(state(of: handler)),
            warnings: []
        )
        entry.manifest = handler.manifestPath
        entry.bundle = handler.isBundle ? handler.path : nil
        entry.reach = Reported(rawValue: handler.reach.rawValue)
        entry.types = handler.fileClaims.map(\.key.description)
        entry.temporary = temporary.reason(for: handler.id).map(Reported.known) ?? .absent
        return entry
    }
}
