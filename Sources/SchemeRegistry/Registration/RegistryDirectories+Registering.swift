internal import UserFiles

extension RegistryDirectories {
    /// Registers a bundle or a bare manifest for the user, by a link in the user's directory that is named after the
    /// handler's id.
    ///
    /// The manifest is checked first. The link takes its place in one step, so a crash leaves either the old state or
    /// the new state. An earlier registration with the same id is replaced if it is a link; otherwise it is left
    /// unchanged. The function blocks while it reads and writes files.
    ///
    /// - Parameters:
    ///   - path: the absolute path of a `Name.app` or a `Name.plist`. The link leads to this exact path, even if the
    ///     path goes through other links.
    ///   - registry: the current registry, used to find conflicts. The registry is not changed: load a new one
    ///     afterwards.
    /// - Returns: the handler, the change, and the handlers that claim the same schemes.
    /// - Throws: ``RegistrationError``.
    public func register(_ path: String, in registry: Registry) throws(RegistrationError) -> Registration {
        guard path.hasPrefix("/") else { throw .relativePath(path) }
        guard !path.utf8.contains(0) else { throw .pathHoldsNUL }
        var path = path
        while path.hasSuffix("/"), path != "/" { path.removeLast() }
        guard let form = HandlerForm(name: path) else { throw .notAHandler(path) }
        guard let user else { throw .noUserDirectory }

        let target = RegistryEntry(path: path, form: form)
        let manifest = try read(target).handler.manifest
        let id = manifest.identifier
        let previous = registry[id]
        if let previous, previous.isFixed { throw .fixedHandler(id) }
        let directory = LinkDirectory(path: user)
        let entryName = path.split(separator: "/").last.map(String.init) ?? ""
        // The directory's loader ignores hidden names, so a hidden name needs a link like any other path.
        if !entryName.hasPrefix("."),
            try changing({ () throws(LinkDirectoryError) in try directory.contains(path) })
        {
            // An entry that already stands in the directory needs no link, if its name is right.
            let (handler, warnings) = try read(target, named: entryName)
            return registration(of: handler, change: .unchanged, warnings: warnings, in: registry)
        }
        let name = form.entryName(of: id)
        let change = try changing { () throws(LinkDirectoryError) -> Registration.Change in
            let links = try directory.links(declaring: id, previous: previous)
            if links == [name: path] { return .unchanged }
            try directory.link(name, to: path, replacing: links.keys.filter { $0 != name })
            return (links.values.first ?? previous?.path).map { .replaced(path: $0) } ?? .added
        }
        let (handler, warnings) = try read(RegistryEntry(path: "\(user)/\(name)", form: form), saying: manifest)
        return registration(of: handler, change: change, warnings: warnings, in: registry)
    }

    /// Removes the user's registration of a handler: the links that declare the handler, and nothing else.
    ///
    /// If a system directory has a handler with the same id, that handler is in force again. The function blocks while
    /// it reads and writes files.
    ///
    /// - Parameters:
    ///   - id: the handler's id.
    ///   - registry: the current registry. The registry is not changed: load a new one afterwards.
    /// - Throws: ``UnregistrationError``.
    public func unregister(_ id: BundleIdentifier, from registry: Registry) throws(UnregistrationError) {
        let registered = registry[id]
        guard let user else { throw .absent(id, registered) }
        let directory = LinkDirectory(path: user)
        do {
            let links = try directory.links(declaring: id, previous: registered)
            if !links.isEmpty { return try directory.remove(Array(links.keys)) }
        } catch {
            switch error {
            case .notALink(let entry): throw .notALink(entry: entry)
            case .file(let path, let error): throw .fileSystem(path: path, reason: error.reason)
            }
        }
        throw .absent(id, registered)
    }

    private func changing<Result>(
        _ body: () throws(LinkDirectoryError) -> Result
    ) throws(RegistrationError) -> Result {
        do {
            return try body()
        } catch {
            switch error {
            case .notALink(let entry): throw .occupied(entry: entry)
            case .file(let path, let error): throw .fileSystem(path: path, reason: error.reason)
            }
        }
    }

    private func read(
        _ entry: RegistryEntry,
        named name: String? = nil,
        saying manifest: HandlerManifest? = nil
    ) throws(RegistrationError) -> (handler: Handler, warnings: [Diagnostic]) {
        do {
            var files = ManifestFiles()
            return try entry.handler(scope: .user, precedence: 0, named: name, saying: manifest, from: &files)
        } catch {
            throw .invalid(error.diagnostics)
        }
    }

    private func registration(
        of handler: Handler,
        change: Registration.Change,
        warnings: [Diagnostic],
        in registry: Registry
    ) -> Registration {
        // Only this handler and the claimants of its schemes can be part of a conflict, so a small registry is enough.
        let rivals = Set(handler.schemes.flatMap { registry.handlers(claiming: $0) }).filter { $0.id != handler.id }
        let around = Registry(handlers: rivals + [handler], diagnostics: warnings)
        return Registration(
            handler: around[handler.id] ?? handler,
            change: change,
            conflicts: around.conflicts.filter { $0.handlers.contains(handler.id) },
            warnings: around.diagnostics
        )
    }
}

extension UnregistrationError {
    /// Returns the reason why the user has no registration to remove.
    fileprivate static func absent(_ id: BundleIdentifier, _ registered: Handler?) -> UnregistrationError {
        guard let registered, registered.scope == .system else { return .unknown(id) }
        return .systemHandler(id, entry: registered.entry)
    }
}
