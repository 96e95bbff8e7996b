internal import Desktop
internal import Glibc
internal import Links
internal import OpenURLBus
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks the desktop entries that claim schemes, and their directories' caches.
extension Examination {
    /// The schemes of web pages, which go to a browser.
    static let webSchemes: Set<String> = ["http", "https"]

    func checkEntries() {
        checkCaches()
        checkIntentCaches()
        let own = Set(files.handlerSchemes)
        let others = files.all.flatMap { file -> [String] in
            guard case .application(let entry) = file.content, entry.handler == nil else { return [] }
            return entry.urlSchemes
        }
        let schemes = topic?.schemes ?? own.union(others.compactMap(Scheme.init(checking:))).sorted()
        for scheme in schemes where !Self.webSchemes.contains(scheme.rawValue) {
            let isOwn = own.contains(scheme)
            for entry in claimingFiles(scheme) { check(entry, scheme) }
            if isOwn || topic != nil { checkChoice(scheme) }
        }
        checkBrowsers()
        let count = translated(
            schemes.count,
            one: "the entries of \(schemes.count) scheme",
            other: "the entries of \(schemes.count) schemes"
        )
        addSoundness(of: .entries, "entries", count, translated("can pass URLs on"))
    }

    // MARK: One entry

    /// A file that claims a scheme or is chosen for it, even if it cannot be used.
    private struct ClaimingFile {
        let file: DesktopFile
        let entry: DesktopEntry?
        /// Whether the desktop opens URLs of the scheme with this entry, or would do so if it were sound.
        let isFirst: Bool
        /// Whether an association file makes the entry the default.
        let isChosen: Bool
        let claimsScheme: Bool

        var path: String { file.location.file }
        var id: DesktopFileID { file.location.id }
    }

    private func claimingFiles(_ scheme: Scheme) -> [ClaimingFile] {
        let type = scheme.mimeType
        let chosen = files.associations.defaults(for: type)
        let named = files.associations.names(for: type)
        var seen: Set<DesktopFileID> = []
        var found: [(file: DesktopFile, entry: DesktopEntry?, claims: Bool)] = []
        for file in files.all where seen.insert(file.location.id).inserted {
            switch file.content {
            case .application(let entry):
                let claims = entry.mimeTypes.contains(type)
                if claims || named.contains(entry.id) { found.append((file, entry, claims)) }
            case .invalid:
                let types = DesktopFile.writtenValue(of: "MimeType", inFile: file.location.file) ?? ""
                let claims = types.lowercased().split(separator: ";").contains(type[...])
                if claims || named.contains(file.location.id) { found.append((file, nil, claims)) }
            case .hidden, .other: continue
            }
        }
        let first = chosen.first { id in found.contains { $0.file.location.id == id } }
        return found.map { file, entry, claims in
            let isFirst = first.map { $0 == file.location.id } ?? (found.count == 1)
            return ClaimingFile(
                file: file,
                entry: entry,
                isFirst: isFirst,
                isChosen: first == file.location.id,
                claimsScheme: claims
            )
        }
    }

    /// Reports what is wrong with one entry.
    private func check(_ claiming: ClaimingFile, _ scheme: Scheme) {
        let id = claiming.id.rawValue
        let level = claiming.isFirst ? Finding.Level.fail : .warn
        guard let entry = claiming.entry else {
            guard claiming.isFirst || topic != nil else { return }
            let reason = claiming.file.diagnostics.first { $0.severity == .error }
            let text = [reason?.key, reason?.reason].compactMap(\.self).joined(separator: " ")
            add(
                .entries,
                level,
                "entry",
                id,
                translated("cannot be used: \(text)"),
                file: claiming.path,
                fix: edit(claiming.path)
            )
            return
        }
        if !claiming.claimsScheme, claiming.isFirst, entry.handler == nil {
            let types = entry.mimeTypes.isEmpty
            let script =
                types ? "/^\\[Desktop Entry\\]/a MimeType=\(scheme.mimeType);" : "s|^MimeType=|&\(scheme.mimeType);|"
            add(
                .entries,
                .warn,
                "no-mime-type",
                id,
                translated("is the default for \(scheme): but does not claim it in MimeType, so choosers leave it out"),
                file: entry.file,
                fix: change(entry, script)
            )
        }
        if let busName = entry.busName { checkActivation(entry, busName, level) }
        guard entry.handler == nil, let command = entry.command else { return }
        if let problem = missingProgram(of: entry, command) {
            // The desktop and the router skip such an entry. It may be harmless, because a package can have an entry
            // for a program in another package.
            guard claiming.isFirst, claiming.isChosen || entry.precedence == 0 || topic != nil else { return }
            let others = files.registry.claimants(of: scheme).filter { $0 != id }
            add(
                .entries,
                level,
                "entry-program",
                id,
                problem,
                file: entry.file,
                fix: others.first.map { "openurl default \(scheme) \(quotedForShell($0))" } ?? edit(entry.file)
            )
            return
        }
        if !command.hasURLCode, !entry.isDBusActivatable {
            add(
                .entries,
                level,
                "no-field-code",
                id,
                translated("has no %u in Exec, so the program is started without the URL"),
                file: entry.file,
                fix: change(entry, "s/^Exec=.*/& %u/")
            )
        }
        let written = DesktopFile.writtenValue(of: "Exec", inFile: entry.file) ?? ""
        if claiming.isFirst, files.desktop.isReadByXDGOpen, written.contains(where: { "\"'\\".contains($0) }) {
            add(
                .entries,
                .warn,
                "exec-quoting",
                id,
                translated("has quotation marks or backslashes in Exec, which xdg-open passes on as they are"),
                file: entry.file,
                fix: unquoting(entry, command.program)
            )
        }
    }

    /// Returns why an entry's program cannot run; nil if it can.
    func missingProgram(of entry: DesktopEntry, _ command: ExecCommand) -> String? {
        for program in [entry.tryProgram, command.program, programOfEnv(entry, command)].compactMap(\.self) {
            let path = isAbsolute(program) ? program : files.tool(program)
            guard let path else { return translated("starts \(program), which is not on PATH") }
            guard isRegularFile(path) else {
                let isImage = path.lowercased().hasSuffix(".appimage")
                return withQuestion(
                    isImage
                        ? translated("starts the AppImage \(path), which does not exist")
                        : translated("starts \(path), which does not exist"),
                    aboutAbsenceOf: path
                )
            }
            if access(path, X_OK) != 0 { return translated("starts \(path), which is not executable") }
        }
        return FlatpakApplications(environment: environment).problem(of: entry, command)
    }

    /// Returns the program that `env` starts, as for a snap; nil for any other command.
    private func programOfEnv(_ entry: DesktopEntry, _ command: ExecCommand) -> String? {
        guard names(onPath: command.program).last == "env" else { return nil }
        let words = command.arguments(opening: ["a:"], name: entry.name, icon: nil, file: entry.file).first ?? []
        let rest = words.dropFirst().drop { $0.contains("=") }
        // The options of `env` may have values, which are not programs.
        return rest.first?.hasPrefix("-") == true ? nil : rest.first
    }

    private func checkActivation(_ entry: DesktopEntry, _ busName: String, _ level: Finding.Level) {
        guard let bus, !bus.activatableNames.contains(busName), bus.pid(of: busName) == nil else { return }
        add(
            .entries,
            level,
            "no-service",
            entry.id.rawValue,
            translated("has DBusActivatable=true, but the bus has no service file for \(busName)"),
            file: entry.file,
            fix: change(entry, "/^DBusActivatable=/d")
        )
    }

    // MARK: Commands

    private func edit(_ path: String) -> String { "\"${EDITOR:-vi}\" \(quotedForShell(path))" }

    /// Returns the command that changes an entry and then rebuilds the cache. A system entry is copied to the user's
    /// directory, where the copy replaces it.
    private func change(_ entry: DesktopEntry, _ script: String) -> String {
        let directory = files.desktop.userApplicationDirectory ?? ""
        let refresh = "update-desktop-database \(quotedForShell(directory))"
        let script = quotedForShell(script)
        guard entry.precedence > 0 || files.desktop.dataHome == nil else {
            return "sed -i \(script) \(quotedForShell(entry.file)) && \(refresh)"
        }
        let copy = quotedForShell("\(directory)/\(entry.id)")
        return "sed \(script) \(quotedForShell(entry.file)) > \(copy) && \(refresh)"
    }

    /// Returns the command that makes an entry readable for xdg-open. If the program's path needs quotation marks, the
    /// command creates a link to the program.
    private func unquoting(_ entry: DesktopEntry, _ program: String) -> String {
        guard program.contains(where: { !$0.isLetter && !$0.isNumber && !"/._-+".contains($0) }),
            let home = environment["HOME"]
        else { return change(entry, "/^Exec=/s/[\"'\\\\]//g") }
        let name = (names(onPath: program).last ?? "program").filter {
            $0.isLetter || $0.isNumber || "._-".contains($0)
        }
        let link = "\(home)/.local/bin/\(name)"
        return "mkdir -p \(quotedForShell(parentDirectory(of: link))) && "
            + "ln -sf \(quotedForShell(program)) \(quotedForShell(link)) && "
            + change(entry, "s|^Exec=.*|Exec=\(link) %u|")
    }

    // MARK: Schemes

    /// Reports a choice of something that does not exist, and a scheme with several claimants and no choice.
    private func checkChoice(_ scheme: Scheme) {
        let chosen = files.associations.defaults(for: scheme.mimeType)
        let claimants = files.registry.claimants(of: scheme)
        // A system handler without a program passes its URLs to the default, and cannot be the default itself.
        let choices = claimants.filter {
            files.registry.handler(named: $0)?.program != nil || DesktopFileID.name(in: $0) != nil
        }
        let file = files.desktop.writtenAssociationFile
        let isMissing = { (id: DesktopFileID) in !self.files.all.contains { $0.location.id == id } }
        // A system list contains applications that may be installed, and the desktop uses the first one that is.
        let isUsersChoice = files.usersAssociations.defaults(for: scheme.mimeType).first == chosen.first
        if let first = chosen.first, isUsersChoice, isMissing(first), !isRegistered(first) {
            let fix = choices.first.map { "openurl default \(scheme) \(quotedForShell($0))" }
            let reason = translated("is the default in mimeapps.list, but no desktop entry has this name")
            add(.associations, .warn, "lost-default", "\(scheme): \(first)", reason, file: file, fix: fix)
        }
        guard claimants.count > 1 else {
            if topic != nil, let only = claimants.first {
                add(.entries, .ok, "claimants", "\(scheme):", translated("only \(only) claims it"))
            } else if topic != nil, let only = temporary.first(where: { $0.schemes.contains(scheme.rawValue) })?.id {
                let fact = translated("only \(only) claims it, and the desktop does not know about that")
                add(.entries, .ok, "claimants", "\(scheme):", fact)
            } else if topic != nil {
                let fix = registering(for: scheme)
                add(
                    .entries,
                    .fail,
                    "claimants",
                    "\(scheme):",
                    translated("no handler and no application claims it"),
                    fix: fix
                )
            }
            return
        }
        let list = claimants.joined(separator: ", ")
        // Choose what the user asks about, if it is one of them.
        let asked = topic?.identifier.flatMap { id in choices.first { $0 == id || DesktopFileID.name(in: $0) == id } }
        if chosen.isEmpty, let choice = asked ?? choices.first {
            add(
                .entries,
                .warn,
                "claimants",
                "\(scheme):",
                translated("is claimed by \(list), but no default is chosen"),
                file: file,
                fix: "openurl default \(scheme) \(quotedForShell(choice))"
            )
        } else if topic != nil {
            let isLost = chosen.allSatisfy { isMissing($0) && !isRegistered($0) }
            let fact =
                isLost
                ? translated("is claimed by \(list); the first one gets the URLs")
                : translated("is claimed by \(list); the first one is the default")
            add(.entries, .ok, "claimants", "\(scheme):", fact)
        }
    }

    /// Returns whether an entry belongs to a handler that is about to be published.
    private func isRegistered(_ id: DesktopFileID) -> Bool {
        files.registry.handler(named: id.name) != nil
    }

    /// Reports an application that claims the URLs of web pages but is not a browser. openurl's own entry gets them only
    /// if the user has chosen that.
    private func checkBrowsers() {
        let asked = topic.map { Set($0.schemes.map(\.rawValue)) }
        guard asked.map({ topic?.identifier != nil || !$0.isDisjoint(with: Self.webSchemes) }) ?? true else { return }
        var reported: Set<DesktopFileID> = []
        for scheme in Self.webSchemes.sorted() {
            let type = "x-scheme-handler/\(scheme)"
            let candidates = files.associations.candidates(for: type, in: files.entries)
                .filter { $0.id.rawValue != AllLinks.entry }
            guard let first = candidates.first, !isBrowser(first), reported.insert(first.id).inserted else { continue }
            let browser = candidates.first(where: isBrowser)
            add(
                .entries,
                .warn,
                "web",
                first.id.rawValue,
                browser.map {
                    translated("gets the links of web pages (\(scheme):) but is not a browser, before \($0.id)")
                } ?? translated("gets the links of web pages (\(scheme):) but is not a browser"),
                file: first.file,
                fix: browser.map { "gio mime \(type) \(quotedForShell($0.id.rawValue))" }
                    ?? change(first, "s|x-scheme-handler/https\\?;||g")
            )
        }
    }

    private func isBrowser(_ entry: DesktopEntry) -> Bool {
        let categories = DesktopFile.writtenValue(of: "Categories", inFile: entry.file) ?? ""
        return categories.split(separator: ";").contains("WebBrowser")
    }
}

extension DesktopDirectories {
    /// The desktops on which xdg-open leaves the entries to the desktop's own program, in lower case.
    private static let desktopsWithOpener: Set = ["cinnamon", "deepin", "gnome", "kde", "mate", "x-cinnamon", "xfce"]

    /// Whether xdg-open reads the entries itself.
    fileprivate var isReadByXDGOpen: Bool { Self.desktopsWithOpener.isDisjoint(with: currentDesktop) }
}
