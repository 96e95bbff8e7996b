internal import DBus
internal import Desktop
internal import Glibc
internal import OpenURLBus
internal import Processes
internal import SchemeRegistry
internal import Spelling
internal import Translations
internal import UserFiles

/// Checks the manifests, their programs, and the names of running handlers.
extension Examination {
    func checkHandlers() {
        let handlers = files.registry.handlers.filter { isConcerned($0) }
        let known = checkKeys(of: handlers)
        checkManifests(known)
        for handler in handlers { checkProgram(of: handler) }
        var unknown: Set<String> = []
        if let bus, router != nil {
            checkStates(bus)
            checkNames(of: handlers, bus)
            unknown = checkRouterRegistry(bus)
        }
        // The router publishes only what it knows.
        let published = files.registry.publishedHandlers.filter { !unknown.contains($0.id.rawValue) }
        for handler in published where isConcerned(handler) { checkPublication(of: handler) }
        if let identifier = topic?.identifier, files.registry.handler(named: identifier) == nil, !isReported(identifier)
        {
            let entry = DesktopFileID.text(ofName: identifier)
            if files.all.contains(where: { $0.location.id.rawValue == entry }) {
                add(
                    .handlers,
                    .ok,
                    "handler",
                    identifier,
                    translated("is an application of the desktop, without a manifest")
                )
            } else {
                let near = nearestName(to: identifier)
                add(
                    .handlers,
                    .fail,
                    "handler",
                    identifier,
                    near.map {
                        translated("is not registered, and no desktop entry has this name; did you mean \($0)?")
                    } ?? translated("is not registered, and no desktop entry has this name"),
                    fix: near == nil ? "openurl register PATH" : nil
                )
            }
        }
        // Only these handlers have been examined.
        let count = files.registry.handlers.count { !$0.isFixed && isConcerned($0) }
        if topic != nil, count == 0 { return }
        let registered =
            count == 0
            ? translated("you have not registered any handlers of your own")
            : translated(
                count,
                one: "\(count) handler is registered and can be started",
                other: "\(count) handlers are registered and can be started"
            )
        addSoundness(of: .handlers, "handlers", translated("handlers"), registered)
    }

    /// Returns the existing name that the user probably meant by a name that nothing has.
    private func nearestName(to identifier: String) -> String? {
        identifier.nearest(in: files.registry.handlers.map(\.id.rawValue) + files.all.map(\.location.id.rawValue))
    }

    /// Returns whether the topic concerns a handler.
    private func isConcerned(_ handler: Handler) -> Bool {
        guard let topic else { return true }
        if let identifier = topic.identifier { return handler.id.rawValue == identifier }
        return handler.schemes.contains { topic.schemes.contains($0) }
    }

    private func isConcerned(_ handler: HandlerEntry) -> Bool {
        guard let topic else { return true }
        if let identifier = topic.identifier { return handler.id == identifier }
        return topic.schemes.contains { handler.schemes.contains($0.rawValue) }
    }

    private func reportTemporary(_ handler: HandlerEntry) {
        let schemes = handler.schemes.map { "\($0):" }.joined(separator: ", ")
        let fact =
            handler.temporary == .known(.claim)
            ? translated(
                """
                gets \(schemes) while the program that 'openurl run' started is running; the desktop does not know about it
                """
            ) : translated("is registered until the router exits; the desktop does not know about it")
        add(.handlers, .ok, "temporary", handler.id, fact)
    }

    private func isReported(_ identifier: String) -> Bool {
        findings.contains { $0.part == .handlers && $0.subject == identifier }
    }

    // MARK: Manifests

    /// Reports the keys in manifests that are ignored, such as misspelt ones.
    ///
    /// - Returns: the files and keys in the reports.
    private func checkKeys(of handlers: [Handler]) -> Set<[String?]> {
        var known: Set<[String?]> = []
        for handler in handlers where handler.scope == .user {
            let isBundle = handler.entry.hasSuffix(".app")
            let file = isBundle ? "\(handler.entry)/Info.plist" : handler.entry
            let findings: [Diagnostic]
            do throws(FileError) {
                let bytes = try contents(ofFile: file, limit: Self.manifestLimit, followingLinks: true)
                findings = ManifestCheck.findings(in: bytes, of: file)
            } catch {
                // The manifest was removed a moment ago.
                continue
            }
            for finding in findings {
                known.insert([file, finding.key])
                let reason = [finding.key, finding.reason].compactMap(\.self).joined(separator: " ")
                add(
                    .handlers,
                    .warn,
                    "manifest-key",
                    handler.id.rawValue,
                    reason,
                    file: file,
                    line: finding.line,
                    fix: editing(file, finding.line)
                )
            }
        }
        return known
    }

    private static let manifestLimit = 1 << 20

    /// Reports manifests that the registry could not read, and parts of manifests that it does not use.
    ///
    /// - Parameter known: files and keys that have already been reported.
    private func checkManifests(_ known: Set<[String?]>) {
        let diagnostics = files.registry.diagnostics.filter {
            !isOtherIdentifier($0.file) && !known.contains([$0.file, $0.key])
        }
        for diagnostic in ManifestCheck.locating(diagnostics) {
            let subject = subject(of: diagnostic.file)
            let reason = [diagnostic.key, diagnostic.reason].compactMap(\.self).joined(separator: " ")
            guard diagnostic.severity == .error else {
                add(
                    .handlers,
                    .warn,
                    "manifest",
                    subject,
                    reason,
                    file: diagnostic.file,
                    line: diagnostic.line,
                    fix: editing(diagnostic.file, diagnostic.line)
                )
                continue
            }
            if let target = lostTarget(ofLink: diagnostic.file) {
                add(
                    .handlers,
                    .fail,
                    "lost-manifest",
                    subject,
                    withQuestion(
                        translated(
                            "has been moved or removed since it was registered; register it where it is now, or remove its link"
                        ),
                        aboutAbsenceOf: target
                    ),
                    file: diagnostic.file,
                    fix: "rm \(quotedForShell(diagnostic.file))",
                    repair: isOnMedium(target) ? nil : .link(path: diagnostic.file)
                )
            } else {
                add(
                    .handlers,
                    .fail,
                    "manifest",
                    subject,
                    reason,
                    file: diagnostic.file,
                    line: diagnostic.line,
                    fix: fix(ofManifest: diagnostic.file, diagnostic.line)
                )
            }
        }
    }

    /// Returns the command that repairs a manifest that cannot be used.
    private func fix(ofManifest path: String, _ line: Int?) -> String {
        do throws(FileError) {
            let type = try status(of: path, followingLinks: true).st_mode & S_IFMT
            // There may be good reasons for a device to be writable by others, but neither a device nor a link to one
            // belongs here.
            if type != S_IFREG, type != S_IFDIR { return "rm \(quotedForShell(path))" }
            var trust = TrustedPaths()
            try trust.check(path)
        } catch {
            // The reason contains the command. Do not look for a command in a diagnostic, whose text may quote a part
            // of the manifest.
            let parts = error.reason.split(separator: "`", omittingEmptySubsequences: false)
            if parts.count == 3 { return String(parts[1]) }
        }
        return access(path, R_OK) == 0 ? editing(path, line) : "chmod u+r \(quotedForShell(path))"
    }

    /// Returns the command that shows the user the line to repair in a file.
    private func editing(_ path: String, _ line: Int?) -> String {
        "\"${EDITOR:-vi}\" \(line.map { "+\($0) " } ?? "")\(quotedForShell(path))"
    }

    /// Returns the target of a link in the user's directory if the target does not exist; nil for anything else.
    private func lostTarget(ofLink path: String) -> String? {
        guard let user = files.directories.user, parentDirectory(of: path) == user else { return nil }
        guard isLink(path), access(path, F_OK) != 0, errno == ENOENT else { return nil }
        do throws(FileError) {
            return try linkTarget(of: path)
        } catch {
            return nil
        }
    }

    private func isOtherIdentifier(_ file: String) -> Bool {
        guard let topic else { return false }
        guard let identifier = topic.identifier else { return false }
        return subject(of: file) != identifier
    }

    /// Returns the identifier after which a manifest is named.
    private func subject(of file: String) -> String {
        let names = names(onPath: file)
        let name = (names.last == "Info.plist" ? names.dropLast().last : names.last) ?? file
        return [".plist", ".app"].first { name.hasSuffix($0) }.map { String(name.dropLast($0.utf8.count)) } ?? name
    }

    // MARK: Programs

    /// Reports a program that a launch could not start.
    private func checkProgram(of handler: Handler) {
        let id = handler.id.rawValue
        let searchPath = handler.manifest.environment["PATH"] ?? router?.environment["PATH"] ?? environment["PATH"]
        let path: String
        switch handler.program {
        case nil: return
        case .path(let text): path = text
        case .desktopEntry(let entry):
            if files.registry.applications[entry]?.isDBusActivatable != true {
                let reason = translated(
                    "names \(entry) as OUDesktopEntry, but the desktop has no such entry with DBusActivatable=true"
                )
                let fix = "\"${EDITOR:-vi}\" \(quotedForShell(handler.path))"
                add(.handlers, .fail, "program", id, reason, file: handler.path, fix: fix)
            }
            return
        case .nameOnPath(let name):
            guard let found = programPath(named: name, in: searchPath) else {
                if let here = programPath(named: name, in: environment["PATH"]) {
                    add(
                        .handlers,
                        .fail,
                        "program",
                        id,
                        translated("needs \(name), which is on PATH here but not in the session"),
                        file: here,
                        fix: "dbus-update-activation-environment PATH" + (router.map { " && kill \($0.pid)" } ?? ""),
                        repair: router?.isStartedByBus == true ? .environment(["PATH"], router: router?.pid) : nil
                    )
                } else {
                    let fix = "\"${EDITOR:-vi}\" \(quotedForShell(handler.path))"
                    let reason = translated("needs \(name), which is not on PATH")
                    add(.handlers, .fail, "program", id, reason, file: handler.path, fix: fix)
                }
                return
            }
            path = found
        }
        guard let fault = ProgramFault(ofProgram: path, searchPath: searchPath) else {
            return checkTrust(ofProgram: path, of: id)
        }
        let check = fault.isInterpreter ? "interpreter" : "program"
        guard let advice = fault.advice else {
            let isMissing = access(path, F_OK) != 0
            let key = handler.manifest.command == nil ? "CFBundleExecutable" : "OUCommand"
            let fact = translated("needs \(path), which \(fault.reason)")
            let reason = isMissing ? withQuestion(fact, aboutAbsenceOf: path) : fact
            add(
                .handlers,
                .fail,
                check,
                id,
                translated("\(reason); put the program back, or correct \(key) in \(handler.path)"),
                file: path,
                fix: editing(handler.path, nil)
            )
            return
        }
        let reason = translated("needs \(path), which \(fault.reason)")
        add(
            .handlers,
            .fail,
            check,
            id,
            fault.command == nil ? "\(reason); \(advice)" : reason,
            file: path,
            fix: fault.command ?? (fault.isInterpreter ? editing(path, 1) : nil)
        )
    }

    /// Reports a program that other users can change, because a launch refuses it.
    private func checkTrust(ofProgram path: String, of id: String) {
        do throws(FileError) {
            var trust = TrustedPaths()
            try trust.check(path)
        } catch {
            guard !error.isAbsence else { return }
            let reason = translated("needs \(path), which \(error.reason)")
            add(.handlers, .fail, "program", id, reason, file: path, fix: fix(ofManifest: path, nil))
        }
    }

    /// Returns a hint if a missing file may be on a medium that is not mounted.
    func withQuestion(_ fact: String, aboutAbsenceOf path: String) -> String {
        isOnMedium(path) ? translated("\(fact) (is its medium mounted?)") : fact
    }

    /// Returns whether a path is in one of the places where removable media and AppImages are mounted.
    private func isOnMedium(_ path: String) -> Bool {
        ["/media/", "/run/media/", "/mnt/", "/tmp/.mount_"].contains { path.hasPrefix($0) }
    }

    // MARK: The router's view

    /// Reports handlers in quarantine, and processes that were started by hand.
    private func checkStates(_ bus: SessionBus) {
        let states: [HandlerStatus]
        do throws(CallError) {
            states = try bus.call(LifecycleInterface.list, on: RouterService.object, Empty())
        } catch {
            return add(
                .handlers,
                .skip,
                "states",
                translated("router"),
                translated("could not list the states of the handlers: \(error)")
            )
        }
        for state in states where topic?.identifier == nil || topic?.identifier == state.id {
            if let end = state.quarantinedUntil {
                let seconds = max(Int(end) - time(nil), 1)
                add(
                    .handlers,
                    .fail,
                    "quarantine",
                    state.id,
                    translated(
                        seconds,
                        one: "crashed too often, so it will not be started for another \(seconds) second",
                        other: "crashed too often, so it will not be started for another \(seconds) seconds"
                    ),
                    fix: "openurl activate --reset \(state.id)",
                    repair: .quarantine(id: state.id)
                )
            }
            if let pid = state.pid, !state.isRegistered {
                add(
                    .handlers,
                    .warn,
                    "unregistered",
                    state.id,
                    translated("is no longer registered, but its process \(pid) is still running"),
                    fix: "openurl terminate \(state.id)"
                )
            } else if let pid = state.pid, !state.isVerified, state.temporary != .known(.claim) {
                add(
                    .handlers,
                    .warn,
                    "by-hand",
                    state.id,
                    translated(
                        "was started by hand as process \(pid), so it gets URLs without a check of its identity"
                    ),
                    fix: "kill \(pid)"
                )
            }
        }
    }

    /// Reports handlers' programs that took a name on the bus other than their identifier.
    private func checkNames(of handlers: [Handler], _ bus: SessionBus) {
        let names: [String]
        do throws(CallError) {
            names = try bus.names()
        } catch {
            return
        }
        var programs: [String: [Handler]] = [:]
        for handler in handlers {
            guard case .path(let path)? = handler.program, !names.contains(handler.id.rawValue) else { continue }
            programs[resolved(path), default: []].append(handler)
        }
        guard !programs.isEmpty else { return }
        for name in names.prefix(512) where !name.hasPrefix("org.freedesktop.") {
            guard let pid = bus.pid(of: name), let program = ProcessProgram.file(pid: pid),
                let owners = programs[program], owners.count == 1, files.registry.handler(named: name) == nil,
                Self.runsScript(of: owners[0], pid)
            else { continue }
            let id = owners[0].id.rawValue
            add(
                .handlers,
                .fail,
                "bus-name",
                id,
                translated("runs as process \(pid) with the bus name \(name), so the router waits for \(id) in vain"),
                file: owners[0].path,
                fix: "\"${EDITOR:-vi}\" \(quotedForShell(owners[0].path))"
            )
        }
    }

    /// Whether a process that runs a handler's program also runs the handler's script. An interpreter runs many
    /// programs, each with its own name.
    private static func runsScript(of handler: Handler, _ pid: UInt32) -> Bool {
        guard let script = handler.manifest.arguments.first, isRegularFile(script) else { return true }
        return ProcessFacts.arguments(pid: pid).contains(script)
    }

    /// Reports a problem if the handlers that the router knows differ from those that this process finds.
    ///
    /// - Returns: the handlers that the router does not know.
    private func checkRouterRegistry(_ bus: SessionBus) -> Set<String> {
        do throws(CallError) {
            let listed = try bus.call(RegistryInterface.listHandlers, on: RouterService.object, Empty())
            temporary = listed.filter { $0.temporary != .absent }
            for handler in temporary where isConcerned(handler) { reportTemporary(handler) }
            let lasting = listed.filter { $0.temporary == .absent }
            let theirs = Set(lasting.map(\.id).filter { DesktopFileID.name(in: $0) == nil })
            let mine = Set(files.registry.handlers.map(\.id.rawValue))
            let missing = mine.subtracting(theirs).subtracting(temporary.map(\.id)).sorted()
            let more = theirs.subtracting(mine).sorted()
            guard !missing.isEmpty || !more.isEmpty else { return [] }
            let (unknown, extra) = (missing.joined(separator: ", "), more.joined(separator: ", "))
            let fact =
                more.isEmpty
                ? translated("does not know \(unknown)")
                : missing.isEmpty
                    ? translated("knows \(extra), which this program does not find")
                    : translated("does not know \(unknown), and knows \(extra), which this program does not find")
            add(
                .handlers,
                .warn,
                "stale-router",
                translated("router"),
                fact,
                fix: Self.reloading,
                repair: .reload
            )
            return Set(missing)
        } catch {
            add(
                .handlers,
                .skip,
                "stale-router",
                translated("router"),
                translated("could not list its handlers: \(error)")
            )
            return []
        }
    }
}
