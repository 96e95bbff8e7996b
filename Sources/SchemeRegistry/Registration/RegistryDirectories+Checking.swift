public import Desktop
public import UserFiles

extension RegistryDirectories {
    /// Returns the problems that would come to light if a file were registered and its handler launched. Changes
    /// nothing.
    ///
    /// This blocks while it reads files.
    ///
    /// - Parameters:
    ///   - path: the absolute path of a `Name.app` or a `Name.plist`, which may be an entry of these directories.
    ///   - registry: the current registry.
    ///   - services: the bus names that no handler can have.
    ///   - searchPath: the value of `PATH` for a launch.
    /// - Returns: the findings, which contain no error if the handler can be registered, and the handler if it can be.
    /// - Throws: ``RegistrationError`` for a reason that is not in the manifest.
    public func check(
        _ path: String,
        in registry: Registry,
        services: DBusServiceNames,
        searchPath: String?
    ) throws(RegistrationError) -> (findings: [Diagnostic], handler: Handler?) {
        guard isAbsolute(path) else { throw .relativePath(path) }
        guard !path.utf8.contains(0) else { throw .pathHoldsNUL }
        let path = normalizedPath(path)
        try checkPresence(of: path)
        guard let form = HandlerForm(name: path) else { throw notAHandler(path) }
        let entry = RegistryEntry(path: path, form: form)
        let contents = findings(inManifestOf: entry)
        let handler: Handler
        do throws(RegistrationError) {
            if let place = all.first(where: { $0.path == parentDirectory(of: path) }) {
                handler = try read(entry, in: place.scope, named: names(onPath: path).last, services: services)
                // A launch checks this again, because the program may have changed since it was registered.
                if case .path(let program)? = handler.program { try checkTrust(ofProgram: program, of: handler) }
            } else {
                handler = try inspect(path, in: registry, services: services).handler
            }
        } catch .invalid(let diagnostics) {
            // Reading the file also explains why it is not a manifest at all.
            return (contents.adding(diagnostics), nil)
        }
        var findings = contents + ManifestCheck.findings(onProgramOf: handler, searchPath: searchPath)
        if handler.manifest.isFixed, !handler.isFixed {
            findings.append(RegistryEntry.ignoredFixed(entry.manifestFile))
        }
        // The only thing that registering takes away from a manifest is other handlers' fixed schemes.
        let owners = registry.handlers.filter { $0.isFixed && $0.id != handler.id }
        let around = Registry(handlers: owners + [handler])
        findings += around.diagnostics.filter { $0.file == handler.manifestFile }
        return (ManifestCheck.locating(findings), around[handler.id] ?? handler)
    }

    /// Returns the warnings about a registration: the findings about its files, and the warnings already known.
    func warnings(about handler: Handler, known: [Diagnostic], searchPath: String?) -> [Diagnostic] {
        guard let form = HandlerForm(name: handler.entry) else { return known }
        // People know the file that was registered, and not the link to it.
        let registered = RegistryEntry(path: handler.path, form: form)
        let program = ManifestCheck.findings(onProgramOf: handler, searchPath: searchPath)
        let others = (known + program).map { diagnostic in
            var diagnostic = diagnostic
            if diagnostic.file == handler.manifestFile { diagnostic.file = registered.manifestFile }
            return diagnostic
        }
        let contents = findings(inManifestOf: registered)
        return ManifestCheck.locating(contents.filter { $0.severity == .warning }.adding(others))
    }

    /// Returns the path of the entry that declares an id, even if it cannot be read; nil if no directory has one.
    public func entry(of id: BundleIdentifier, in registry: Registry) -> String? {
        if let entry = registry[id]?.entry { return entry }
        for (directory, _) in all {
            for form in [HandlerForm.bundle, .manifest] {
                let entry = "\(directory)/\(form.entryName(of: id))"
                if exists(entry) { return entry }
            }
        }
        return nil
    }

    private func exists(_ entry: String) -> Bool {
        do throws(FileError) {
            _ = try status(of: entry, followingLinks: false)
            return true
        } catch {
            return false
        }
    }

    /// Returns the findings about an entry's manifest; none if it cannot be read.
    func findings(inManifestOf entry: RegistryEntry) -> [Diagnostic] {
        do throws(FileError) {
            let bytes = try contents(
                ofFile: entry.manifestFile,
                limit: ManifestFiles.sizeLimit,
                followingLinks: true
            )
            return ManifestCheck.findings(in: bytes, of: entry.manifestFile)
        } catch {
            // Reading the handler reports the error.
            return []
        }
    }

    private func read(
        _ entry: RegistryEntry,
        in scope: Scope,
        named name: String?,
        services: DBusServiceNames
    ) throws(RegistrationError) -> Handler {
        do throws(InvalidEntry) {
            var files = ManifestFiles(services: services)
            return try entry.handler(scope: scope, precedence: 0, named: name, from: &files).handler
        } catch {
            throw .invalid(ManifestCheck.locating(error.diagnostics))
        }
    }
}

extension [Diagnostic] {
    /// Returns these diagnostics, plus those of the others that are not among them. The others have no lines.
    fileprivate func adding(_ others: [Diagnostic]) -> [Diagnostic] {
        others.filter { other in !contains { $0.key == other.key && $0.reason == other.reason } } + self
    }
}
