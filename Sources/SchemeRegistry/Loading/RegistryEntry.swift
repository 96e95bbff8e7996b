internal import Desktop
internal import Glibc
internal import UserFiles

/// Thrown for an entry that declares no handler, with at least one problem.
struct InvalidEntry: Error, Hashable {
    var diagnostics: [Diagnostic]
    /// Whether the reason is temporary (`FileError.isTemporary`).
    var isTemporary = false
}

/// A bundle or a bare manifest: an entry of a registry directory, or a file that is about to be registered.
struct RegistryEntry {
    let path: String
    let form: HandlerForm
    private let status: Result<stat, FileError>
    private let directory: ResolvedDirectory?

    /// Reads the status of an entry.
    ///
    /// - Parameter directory: the entry's directory, if it has been resolved already.
    init(path: String, form: HandlerForm, in directory: ResolvedDirectory? = nil) {
        self.path = path
        self.form = form
        self.directory = directory
        status = Result { () throws(FileError) in try UserFiles.status(of: path, followingLinks: false) }
    }

    /// The property list's path, through the entry and without resolving links.
    var manifestFile: String { form == .bundle ? "\(path)/\(HandlerForm.bundleManifest)" : path }

    /// Whether the property list is a file other than the entry. In that case, a change to the property list does not
    /// change the entry's directory.
    var leadsElsewhere: Bool {
        guard form == .manifest, case .success(let status) = status else { return form == .bundle }
        return status.st_mode & S_IFMT == S_IFLNK
    }

    /// The version of a manifest that is a regular file in the directory itself, and the manifest's path without links.
    var ownFile: (version: FileVersion, path: String)? {
        guard form == .manifest, let directory, case .success(let status) = status else { return nil }
        return status.st_mode & S_IFMT == S_IFREG ? (FileVersion(status), directory.path(of: path)) : nil
    }

    /// Reads the handler that the entry declares, with warnings about everything that the manifest asks for but does
    /// not get.
    ///
    /// - Parameters:
    ///   - name: the entry's name in a registry directory. For a bare manifest, it must be the handler's id with
    ///     `.plist`.
    ///   - known: the contents of the property list, if the caller has read it already.
    func handler(
        scope: RegistryDirectories.Scope,
        precedence: Int,
        named name: String? = nil,
        saying known: HandlerManifest? = nil,
        from files: inout ManifestFiles,
        now: Int64 = currentTime()
    ) throws(InvalidEntry) -> (handler: Handler, warnings: [Diagnostic]) {
        let (resolved, date, isLink) = try locate()
        do throws(FileError) {
            try files.trust?.check(path)
        } catch {
            throw invalid(error.reason)
        }
        let manifest =
            if let known { known } else {
                try manifest(resolved: resolved, isLink: isLink, from: &files, now: now)
            }
        if let name, form == .manifest, name != form.entryName(of: manifest.identifier) {
            let right = form.entryName(of: manifest.identifier)
            let sibling = "\(parentDirectory(of: path))/\(right)"
            let fact =
                UserFiles.isLink(sibling) || isRegularFile(sibling)
                ? "which \(right) already declares; remove one of the two" : "so the file has to be called \(right)"
            throw invalid(key: "CFBundleIdentifier", "is \(manifest.identifier), \(fact)")
        }
        let handler = Handler(
            manifest: manifest,
            path: resolved,
            entry: path,
            program: try program(of: manifest, resolved: resolved),
            scope: scope,
            precedence: precedence,
            registrationDate: date,
            isInstalledByAdministrator: scope == .system && !manifest.associatedDomains.isEmpty
                && isChangeableOnlyByRoot(resolved)
        )
        guard handler.program != nil || handler.isFixed else {
            throw invalid(
                key: "CFBundleExecutable",
                "is missing; name the program here, or write a command as OUCommand"
            )
        }
        try checkName(of: handler, against: files.services)
        var warnings = manifest.unknownContentTypes.map { key, type in
            diagnostic(.warning, key: key, HandlerManifest.reason(ofUnknown: type))
        }
        if manifest.isFixed, !handler.isFixed {
            warnings.append(Self.ignoredFixed(manifestFile))
        }
        return (handler, warnings)
    }

    /// Returns whether only root can change the entry, and the manifest to which it leads.
    private func isChangeableOnlyByRoot(_ resolved: String) -> Bool {
        do throws(FileError) {
            var trust = TrustedPaths(owners: .root)
            try trust.check(path)
            try trust.check(form == .bundle ? try resolvedManifest(of: resolved) : resolved)
            return true
        } catch {
            return false
        }
    }

    /// Warns that a key asks for more than the user's directory can give.
    static func ignoredFixed(_ file: String) -> Diagnostic {
        Diagnostic(
            severity: .warning,
            file: file,
            key: "OUFixed",
            reason: "is ignored outside the system's directories"
        )
    }

    /// Resolves the entry, and returns its date.
    private func locate() throws(InvalidEntry) -> (resolved: String, date: RegistrationDate, isLink: Bool) {
        do throws(FileError) {
            let status = try status.get()
            let date = RegistrationDate(modificationOf: status)
            let isLink = status.st_mode & S_IFMT == S_IFLNK
            let target = isLink ? try statusOfTarget() : status
            let expected = form == .bundle ? S_IFDIR : S_IFREG
            guard target.st_mode & S_IFMT == expected else {
                throw FileError("is \(fileTypeName(target)), not \(form == .bundle ? "a directory" : "a file")")
            }
            if !isLink, let directory { return (directory.path(of: path), date, isLink) }
            return (try resolvedPath(path), date, isLink)
        } catch {
            let problem = Diagnostic(severity: .error, file: path, reason: error.reason)
            throw InvalidEntry(diagnostics: [problem], isTemporary: error.isTemporary)
        }
    }

    /// Returns the status of the file to which a registration leads.
    private func statusOfTarget() throws(FileError) -> stat {
        do throws(FileError) {
            return try UserFiles.status(of: path, followingLinks: true)
        } catch {
            guard error.isAbsence else { throw error }
            let target = printable(try linkTarget(of: path))
            throw FileError(
                "leads to \(target), which was moved or removed; register it where it is now, or unregister it"
            )
        }
    }

    /// Checks that this handler may have its id as a bus name.
    private func checkName(of handler: Handler, against services: DBusServiceNames) throws(InvalidEntry) {
        let key = "CFBundleIdentifier"
        let id = handler.id.rawValue
        if handler.scope == .user, let prefix = BundleIdentifier.systemPrefixes.first(where: { id.hasPrefix($0) }) {
            let advice = "choose a name below a domain that you own"
            throw invalid(key: key, "is \(id), but \(prefix)* belongs to the system; \(advice)")
        }
        guard let service = services[id], !service.isOwn(of: handler) else { return }
        let declaration = "\(printable(service.file)) declares it"
        throw invalid(key: key, "is \(id), another program's bus name: \(declaration); choose another one")
    }

    /// Reads and checks the property list.
    private func manifest(
        resolved: String,
        isLink: Bool,
        from files: inout ManifestFiles,
        now: Int64
    ) throws(InvalidEntry) -> HandlerManifest {
        let reading: ManifestReading
        do throws(FileError) {
            var file = resolved
            if form == .bundle {
                file = try resolvedManifest(of: resolved)
                guard isBelow(file, resolved) else { throw FileError("is a link that leads out of the bundle") }
                try files.trust?.check(file)
            }
            let isEntry = form == .manifest && !isLink
            reading = try files.read(file, isEntry ? try status.get() : nil, now: now)
        } catch {
            var entry = invalid(error.reason)
            entry.isTemporary = error.isTemporary
            throw entry
        }
        switch reading {
        case .manifest(let manifest): return manifest
        case .invalid(let problems):
            // A hostile manifest can have a problem in each element.
            let shown = problems.prefix(Problems.limit)
            var diagnostics = shown.map { diagnostic(.error, key: $0.key, $0.reason) }
            if shown.count < problems.count {
                diagnostics.append(diagnostic(.error, key: nil, "has \(problems.count - shown.count) more problems"))
            }
            throw InvalidEntry(diagnostics: diagnostics)
        }
    }

    private func resolvedManifest(of bundle: String) throws(FileError) -> String {
        do throws(FileError) {
            return try resolvedPath("\(bundle)/\(HandlerForm.bundleManifest)")
        } catch {
            guard error.isAbsence else { throw error }
            // A macOS bundle has its manifest here.
            let isInContents = isRegularFile("\(bundle)/Contents/\(HandlerForm.bundleManifest)")
            throw FileError(
                isInContents
                    ? "does not exist; move the files of the folder Contents here"
                    : "does not exist; this is where a bundle's manifest belongs"
            )
        }
    }

    /// Returns the program's path, whether or not the file exists.
    private func program(of manifest: HandlerManifest, resolved: String) throws(InvalidEntry) -> Handler.Program? {
        if let entry = manifest.desktopEntry { return .desktopEntry(entry) }
        let relative: String
        switch (manifest.executable, form) {
        case (nil, _): return nil
        case (.absolute(let path), _): return .path(path)
        case (.name(let name), .manifest): return .nameOnPath(name)
        case (.name(let path), .bundle), (.relative(let path), _): relative = path
        }
        let base = form == .bundle ? resolved : parentDirectory(of: resolved)
        guard !leadsOut(relative, of: base) else {
            throw invalid(
                key: manifest.programKey,
                "is a link that leads out of the handler's directory; give an absolute path"
            )
        }
        return .path("\(base)/\(names(onPath: relative).filter { $0 != "." }.joined(separator: "/"))")
    }

    /// Returns whether a link along a path leads out of a directory.
    ///
    /// This checks every existing part of the path, and finds a link to an outside directory even if the file does not
    /// exist there yet. If a part does not exist or cannot be reached, the launch will report it.
    private func leadsOut(_ relative: String, of base: String) -> Bool {
        var path = base
        for component in names(onPath: relative) where component != "." {
            path += "/\(component)"
            do {
                guard isBelow(try resolvedPath(path), base) else { return true }
            } catch {
                return false
            }
        }
        return false
    }

    private func invalid(key: String? = nil, _ reason: String) -> InvalidEntry {
        InvalidEntry(diagnostics: [diagnostic(.error, key: key, reason)])
    }

    /// Creates a diagnostic about the manifest file, which in a bundle is not the entry itself.
    private func diagnostic(_ severity: Diagnostic.Severity, key: String?, _ reason: String) -> Diagnostic {
        Diagnostic(severity: severity, file: manifestFile, key: key, reason: reason)
    }
}

extension DBusServiceNames.Service {
    /// Whether the service starts this handler, with the handler's program or with this system's command.
    fileprivate func isOwn(of handler: Handler) -> Bool {
        command.first?.split(separator: "/").last == "openurl"
            || handler.program.map { command.contains($0.description) } ?? true
    }
}

/// A directory whose links have been resolved, so that they need not be resolved again for each entry.
struct ResolvedDirectory {
    private let path: String
    private let resolved: String

    init(_ path: String) throws(FileError) {
        self.path = path
        resolved = try resolvedPath(path)
    }

    /// Returns the resolved path of an entry that is not a link.
    func path(of entry: String) -> String {
        (resolved == "/" ? "" : resolved) + entry.dropFirst(path.count)
    }
}
