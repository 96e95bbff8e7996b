internal import DBus
internal import Desktop
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry
internal import UserFiles

/// Registers handlers and removes them, in files and in memory, and lists those that are registered.
///
/// The store has an actor of its own. Everything else that a registration changes belongs to the router, so the methods
/// run in the router's isolation.
struct Registrations: Sendable {
    let store: RegistryStore

    // MARK: Registering

    /// Registers the handler at a path.
    ///
    /// - Parameter isReplacing: whether it takes the place of a handler with the same identifier.
    func register(_ path: String, isReplacing: Bool, _ caller: BusName?, _ router: isolated URLRouter)
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

    /// Registers the handler at a path until the router exits.
    func registerTemporarily(_ path: String, _ caller: BusName?, _ router: isolated URLRouter) async throws
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

    /// Claims schemes for a program as long as it runs.
    ///
    /// - Parameter text: the identifier of the handler that the program runs as, or the absolute path of its bundle or
    ///   manifest.
    func claim(
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
            let scheme = try Scheme(argument: text)
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
    /// - Parameter text: the identifier, or the absolute path of a bundle or manifest.
    private func describe(_ text: String, _ program: Handler.Program, _ router: isolated URLRouter) async throws
        -> Handler
    {
        let id = isAbsolute(text) ? nil : try BundleIdentifier(argument: text)
        if let id, let handler = router.handlers.temporary.registration(of: id) { return handler }
        do throws(RegistrationError) {
            guard let id else { return try await store.inspect(text).handler }
            return try await store.describe(id, running: program)
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
    }

    /// Returns what is wrong with the manifest of a handler, which need not be registered.
    ///
    /// - Parameter text: the identifier, or the absolute path of a bundle or manifest.
    func check(_ text: String, _ router: isolated URLRouter) async throws -> [ManifestFinding] {
        var path = text
        if !isAbsolute(text) {
            guard let entry = await store.entry(of: try BundleIdentifier(argument: text)) else {
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

    /// Removes a handler, and everything that the router keeps for it.
    func unregister(_ text: String, _ caller: BusName?, _ router: isolated URLRouter) async throws {
        let id = try BundleIdentifier(argument: text)
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
        // A handler in a system directory may be in effect again, or the handler may have been registered again
        // meanwhile.
        if router.registry[id] == nil { await router.scheduledTasks.endAll(of: id) }
        if router.registry[id] == nil { await router.localNotifications.cancelAll(of: id) }
        // This waits for distributors.
        if router.registry[id] == nil { await router.pushes.endAll(of: id) }
    }

    /// Makes a handler the default for a scheme, or for a type of file.
    func setDefault(_ scheme: String, _ id: String, _ router: isolated URLRouter) async throws {
        let snapshot: RegistrySnapshot
        do throws(DefaultError) {
            snapshot = try await store.setDefault(id, for: scheme)
        } catch .unknown {
            guard router.registry.handler(named: id) != nil else { throw OpenURLError(unknownHandler: id) }
            throw RemoteError(
                .invalidArguments,
                "\(id) is registered only temporarily; after 'openurl register PATH' it can be the default"
            )
        } catch .file(let error) {
            throw RemoteError(.failed, error.description)
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
        await router.use(snapshot, isPublishing: store.isPublishing)
    }

    // MARK: Lists

    /// Returns the handlers and applications that a caller may see.
    func entries(for caller: BusName?, _ router: isolated URLRouter) async -> [HandlerEntry] {
        let limit = await router.callers.ownIdentifier(of: caller)
        let entries = router.entries.all(await store.resources(), namingRivals: limit == nil)
        guard let own = limit else {
            let listed = HandlerEntry.fitting(entries)
            let omitted = entries.count - listed.count
            if omitted > 0 { router.log.warning("\(omitted) handlers did not fit in the list") }
            return listed
        }
        return entries.filter { $0.id == own }
    }

    /// Returns the claimants that a caller may see, by their schemes.
    func claimants(for caller: BusName?, _ router: isolated URLRouter) async -> [String: [String]] {
        let registry = router.registry
        var list = ListedTexts<[String]>()
        for scheme in registry.schemes {
            let claimants = registry.claimants(of: scheme)
            list.add(claimants, for: scheme.rawValue, claimants)
        }
        if list.omitted > 0 { router.log.warning("\(list.omitted) schemes did not fit in the list") }
        let schemes = list.elements
        guard let own = await router.callers.ownIdentifier(of: caller) else { return schemes }
        return schemes.compactMapValues { $0.contains(own) ? [own] : nil }
    }

    // MARK: Files

    /// Reads all files again, and publishes the handlers.
    ///
    /// - Returns: the problems, by their files.
    func reload(_ router: isolated URLRouter) async -> [String: String] {
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

extension Scheme {
    /// Creates the scheme that is the argument of a call.
    ///
    /// - Throws: `InvalidArgs` with the reason.
    fileprivate init(argument text: String) throws(RemoteError) {
        do throws(ParseError) {
            try self.init(text)
        } catch {
            throw RemoteError(.invalidArguments, "the scheme '\(printable(text))' \(error)")
        }
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
