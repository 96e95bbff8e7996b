import Desktop

extension RegistryDirectories {
    /// Registers a bundle or a bare manifest for the user: links it into the user's directory under its id.
    ///
    /// Checks it first. The link takes its place in one step, so a crash leaves the old state or the new. What was
    /// registered before under the same id is replaced if it is a link, and left alone otherwise. Blocks on files.
    ///
    /// - Parameters:
    ///   - path: absolute; `Name.app` or `Name.plist`. The link leads to this very path, whatever links it goes through.
    ///   - registry: what the directories hold, for the conflicts; it is not changed, so load a new one afterwards.
    /// - Returns: the handler, what changed, and who else claims its schemes.
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
        // Hidden names are not looked at there.
        if !entryName.hasPrefix("."),
            try changing({ () throws(LinkDirectory.Failure) in try directory.contains(path) })
        {
            // What stands in the directory is registered by that, if its name is right.
            let (handler, warnings) = try read(target, named: entryName)
            return registration(of: handler, change: .unchanged, warnings: warnings, in: registry)
        }
        let name = form.entryName(of: id)
        let change = try changing { () throws(LinkDirectory.Failure) -> Registration.Change in
            let links = try directory.links(declaring: id, previous: previous)
            if links == [name: path] { return .unchanged }
            try directory.link(name, to: path, replacing: links.keys.filter { $0 != name })
            return (links.values.first ?? previous?.path).map { .replaced(path: $0) } ?? .added
        }
        let (handler, warnings) = try read(RegistryEntry(path: "\(user)/\(name)", form: form), saying: manifest)
        return registration(of: handler, change: change, warnings: warnings, in: registry)
    }

    /// Takes the user's registration of a handler back: removes exactly the link that registered it.
    ///
    /// A handler of a system directory with the same id is in force again after that. Blocks on files.
    ///
    /// - Parameters:
    ///   - id: the handler's.
    ///   - registry: what the directories hold; it is not changed, so load a new one afterwards.
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
        _ body: () throws(LinkDirectory.Failure) -> Result
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
        // A registry of this handler and of those that claim one of its schemes says all there is to say about it.
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
    /// Why there is nothing of the user's to remove.
    fileprivate static func absent(_ id: BundleIdentifier, _ registered: Handler?) -> UnregistrationError {
        guard let registered, registered.scope == .system else { return .unknown(id) }
        return .systemHandler(id, entry: registered.entry)
    }
}
