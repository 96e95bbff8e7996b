internal import Desktop
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Checks the desktop entries that claim schemes.
struct EntryCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        let own = Set(files.handlerSchemes)
        for scheme in schemes where !BrowserCheck.webSchemes.contains(scheme.rawValue) {
            for entry in claimingFiles(scheme) { check(entry, scheme, &findings) }
            if own.contains(scheme) || topic != nil { DefaultCheck(evidence: evidence).perform(scheme, &findings) }
        }
    }

    /// The schemes whose entries are checked.
    var schemes: [Scheme] {
        if let topic { return topic.schemes }
        let others = files.all.flatMap { file -> [String] in
            guard case .application(let entry) = file.content, entry.handler == nil else { return [] }
            return entry.urlSchemes
        }
        return Set(files.handlerSchemes).union(others.compactMap(Scheme.init(checking:))).sorted()
    }

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
    private func check(_ claiming: ClaimingFile, _ scheme: Scheme, _ findings: inout Findings) {
        let id = claiming.id.rawValue
        let level = claiming.isFirst ? Finding.Level.fail : .warn
        guard let entry = claiming.entry else {
            guard claiming.isFirst || topic != nil else { return }
            let reason = claiming.file.diagnostics.first { $0.severity == .error }
            let text = [reason?.key, reason?.reason].compactMap(\.self).joined(separator: " ")
            findings.add(
                .entries,
                level,
                "entry",
                id,
                translated("cannot be used: \(text)"),
                file: claiming.path,
                fix: editing(claiming.path)
            )
            return
        }
        if !claiming.claimsScheme, claiming.isFirst, entry.handler == nil {
            let types = entry.mimeTypes.isEmpty
            let script =
                types ? "/^\\[Desktop Entry\\]/a MimeType=\(scheme.mimeType);" : "s|^MimeType=|&\(scheme.mimeType);|"
            findings.add(
                .entries,
                .warn,
                "no-mime-type",
                id,
                translated("is the default for \(scheme): but does not claim it in MimeType, so choosers leave it out"),
                file: entry.file,
                fix: files.changing(entry, script)
            )
        }
        if let busName = entry.busName { checkActivation(of: entry, busName, level, &findings) }
        guard entry.handler == nil, let command = entry.command else { return }
        if let problem = files.missingProgram(of: entry, command) {
            // The desktop and the router skip such an entry. It may be harmless, because a package can have an entry
            // for a program in another package.
            guard claiming.isFirst, claiming.isChosen || entry.precedence == 0 || topic != nil else { return }
            let others = files.registry.claimants(of: scheme).filter { $0 != id }
            findings.add(
                .entries,
                level,
                "entry-program",
                id,
                problem,
                file: entry.file,
                fix: others.first.map { "openurl default \(scheme) \(quotedForShell($0))" } ?? editing(entry.file)
            )
            return
        }
        if !command.hasURLCode, !entry.isDBusActivatable {
            findings.add(
                .entries,
                level,
                "no-field-code",
                id,
                translated("has no %u in Exec, so the program is started without the URL"),
                file: entry.file,
                fix: files.changing(entry, "s/^Exec=.*/& %u/")
            )
        }
        let written = DesktopFile.writtenValue(of: "Exec", inFile: entry.file) ?? ""
        if claiming.isFirst, files.desktop.isReadByXDGOpen, written.contains(where: { "\"'\\".contains($0) }) {
            findings.add(
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

    private func checkActivation(
        of entry: DesktopEntry,
        _ busName: String,
        _ level: Finding.Level,
        _ findings: inout Findings
    ) {
        guard let bus, !bus.activatableNames.contains(busName), bus.pid(of: busName) == nil else { return }
        findings.add(
            .entries,
            level,
            "no-service",
            entry.id.rawValue,
            translated("has DBusActivatable=true, but the bus has no service file for \(busName)"),
            file: entry.file,
            fix: files.changing(entry, "/^DBusActivatable=/d")
        )
    }

    /// Returns the command that makes an entry readable for xdg-open. If the program's path needs quotation marks, the
    /// command creates a link to the program.
    private func unquoting(_ entry: DesktopEntry, _ program: String) -> String {
        guard program.contains(where: { !$0.isLetter && !$0.isNumber && !"/._-+".contains($0) }),
            let home = environment["HOME"]
        else { return files.changing(entry, "/^Exec=/s/[\"'\\\\]//g") }
        let name = (names(onPath: program).last ?? "program").filter {
            $0.isLetter || $0.isNumber || "._-".contains($0)
        }
        let link = "\(home)/.local/bin/\(name)"
        return "mkdir -p \(quotedForShell(parentDirectory(of: link))) && "
            + "ln -sf \(quotedForShell(program)) \(quotedForShell(link)) && "
            + files.changing(entry, "s|^Exec=.*|Exec=\(link) %u|")
    }
}

extension DesktopDirectories {
    /// The desktops on which xdg-open leaves the entries to the desktop's own program, in lower case.
    private static let desktopsWithOpener: Set = ["cinnamon", "deepin", "gnome", "kde", "mate", "x-cinnamon", "xfce"]

    /// Whether xdg-open reads the entries itself.
    fileprivate var isReadByXDGOpen: Bool { Self.desktopsWithOpener.isDisjoint(with: currentDesktop) }
}
