public import Desktop
internal import UserFiles

extension RegistryDirectories {
    /// Registers a bundle or a bare manifest for the user. The registration is a link in the user's directory, named
    /// after the handler's id.
    ///
    /// First, this function checks that no other user can change the manifest or the program. The link is put in place
    /// in one step, so a crash leaves either the old state or the new one. This function blocks while it reads and
    /// writes files.
    ///
    /// If another handler has the id, this fails unless `isReplacing` is true or that handler's file no longer exists.
    /// The new link takes the date of an earlier link, so that a replacement keeps its place among the claimants of a
    /// scheme. Only links are replaced.
    ///
    /// - Parameters:
    ///   - path: the absolute path of a `Name.app` or a `Name.plist`. The link leads to this exact path, even if it
    ///     goes through other links.
    ///   - registry: the current registry, used to find conflicts. It does not change: load a new one afterwards.
    ///   - expected: the handler that the caller has found at the path and has checked; nil if the caller has checked
    ///     nothing.
    ///   - isReplacing: whether the handler may replace another one with the same id.
    ///   - services: the bus names that no handler can have.
    /// - Returns: the handler, the change, and the handlers that claim the same schemes.
    /// - Throws: ``RegistrationError``.
    public func register(
        _ path: String,
        in registry: Registry,
        expecting expected: Handler? = nil,
        isReplacing: Bool = false,
        services: DBusServiceNames = DBusServiceNames()
    ) throws(RegistrationError) -> Registration {
        let found = try inspect(path, in: registry, services: services)
        // The file may have changed since the caller's check. From here on, the manifest is not read again.
        if let expected, found.handler != expected { throw .changed(path) }
        let (path, form, id) = (found.path, found.form, found.handler.id)
        guard let user else { throw .noUserDirectory }
        let directory = LinkDirectory(path: user)
        let entryName = names(onPath: path).last ?? ""
        // The directory's loader ignores hidden names, so a file with one needs a link like any other path.
        if entryName.utf8.first != UInt8(ascii: "."),
            try changing({ () throws(LinkDirectoryError) in try directory.contains(path) })
        {
            // An entry that is already in the directory and has the right name needs no link.
            let target = RegistryEntry(path: path, form: form)
            let (handler, warnings) = try read(
                target,
                named: entryName,
                saying: found.handler.manifest,
                services: services
            )
            return registration(of: handler, change: .unchanged, warnings: warnings, in: registry)
        }
        let previous = registry[id]
        let name = form.entryName(of: id)
        let links = try changing { () throws(LinkDirectoryError) in
            try directory.links(declaring: id, previous: previous)
        }
        var change = Registration.Change.unchanged
        if links != [name: path] {
            let replaced = links.min { $0.key < $1.key }?.value ?? previous?.path
            // A registration that leads nowhere protects nothing: it is often left over from the same handler, which
            // has since been moved.
            if let replaced, !isReplacing, previous?.path != found.handler.path, !isAbsent(replaced) {
                throw .registered(id, by: previous?.path ?? replaced, instead: path)
            }
            try changing { () throws(LinkDirectoryError) in
                let date = try directory.earliestDate(of: links.keys)
                try directory.link(name, to: path, dated: date, replacing: links.keys.filter { $0 != name })
            }
            change = replaced.map { .replaced(path: $0) } ?? .added
        }
        let entry = RegistryEntry(path: "\(user)/\(name)", form: form)
        let (handler, warnings) = try read(entry, saying: found.handler.manifest, services: services)
        return registration(of: handler, change: change, warnings: warnings, in: registry)
    }

    /// Reads and checks a handler that is about to be registered. Changes nothing.
    ///
    /// - Returns: the path without slashes at its end, the form, and the handler.
    func inspect(
        _ path: String,
        in registry: Registry,
        services: DBusServiceNames
    ) throws(RegistrationError) -> (path: String, form: HandlerForm, handler: Handler) {
        guard isAbsolute(path) else { throw .relativePath(path) }
        guard !path.utf8.contains(0) else { throw .pathHoldsNUL }
        var path = path
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        guard let form = HandlerForm(name: path) else {
            try checkPresence(of: path)
            throw notAHandler(path)
        }
        guard user != nil else { throw .noUserDirectory }
        try checkPresence(of: path)
        let handler = try read(RegistryEntry(path: path, form: form), services: services).handler
        if let previous = registry[handler.id], previous.isFixed { throw .fixedHandler(handler.id) }
        if case .path(let program)? = handler.program { try checkTrust(ofProgram: program, of: handler) }
        return (path, form, handler)
    }

    /// Checks that there is a file or a directory at a path. Any other fault is found when the file is read.
    func checkPresence(of path: String) throws(RegistrationError) {
        do throws(FileError) {
            _ = try status(of: path, followingLinks: false)
        } catch {
            if error.isAbsence { throw .missing(path) }
        }
    }

    /// Returns whether there is nothing at a path. If that is not certain, the result is false.
    private func isAbsent(_ path: String) -> Bool {
        do throws(RegistrationError) {
            try checkPresence(of: path)
            return false
        } catch {
            return true
        }
    }

    /// Returns the error for a path whose name is not a handler's.
    func notAHandler(_ path: String) -> RegistrationError {
        do throws(FileError) {
            let names = try names(inDirectory: path) ?? []
            let files = names.map { String(decoding: $0, as: UTF8.self) }.filter { HandlerForm(name: $0) != nil }
            return .notAHandler(path, containing: files.prefix(3).map { "\(path)/\($0)" })
        } catch {
            return .notAHandler(path, containing: [])
        }
    }

    func checkTrust(ofProgram program: String, of handler: Handler) throws(RegistrationError) {
        guard let distrust = TrustedPaths.distrust(ofProgram: program) else { return }
        let problem = Diagnostic(
            severity: .error,
            file: handler.manifestFile,
            key: handler.manifest.programKey,
            reason: "\(printable(program)) \(distrust)"
        )
        throw .invalid(ManifestCheck.locating([problem]))
    }

    /// Removes the user's registration of a handler: the links that declare it, and nothing else.
    ///
    /// If a system directory has a handler with the same id, that one is in effect again. The function blocks while it
    /// reads and writes files.
    ///
    /// - Parameters:
    ///   - id: the handler's id.
    ///   - registry: the current registry. It does not change: load a new one afterwards.
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
        saying manifest: HandlerManifest? = nil,
        services: DBusServiceNames
    ) throws(RegistrationError) -> (handler: Handler, warnings: [Diagnostic]) {
        do {
            var files = ManifestFiles(services: services)
            return try entry.handler(scope: .user, precedence: 0, named: name, saying: manifest, from: &files)
        } catch {
            // Often the reason is a misspelt key.
            let ignored = findings(inManifestOf: entry).filter { $0.severity == .warning && $0.key != nil }
            throw .invalid(ManifestCheck.locating(error.diagnostics) + ignored)
        }
    }

    private func registration(
        of handler: Handler,
        change: Registration.Change,
        warnings: [Diagnostic],
        in registry: Registry
    ) -> Registration {
        // A small registry is enough, because only this handler and the claimants of its schemes can be part of a
        // conflict.
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
