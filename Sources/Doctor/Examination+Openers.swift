internal import DBus
internal import Desktop
internal import Glibc
internal import OpenURLBus
internal import SchemeRegistry
internal import Spelling
internal import Translations
internal import UserFiles

/// Asks each program that opens URLs which destination it would choose.
extension Examination {
    /// The maximum number of schemes about which the portal is asked.
    private static let limit = 32

    func checkOpeners() {
        guard let topic, let scheme = topic.schemes.first else {
            for scheme in schemes.prefix(Self.limit) {
                checkPortal(scheme, expected: destination(of: scheme, host: nil))
            }
            let reason = translated("give a scheme, a URL or a handler to see which program each opener would choose")
            return add(.openers, .skip, "openers", translated("openers"), reason)
        }
        for scheme in topic.schemes.prefix(Self.limit).dropFirst() {
            checkPortal(scheme, expected: destination(of: scheme, host: nil))
        }
        if let identifier = topic.identifier {
            for scheme in topic.schemes.prefix(Self.limit) { checkChoice(of: scheme, for: identifier) }
        }
        let expected = explain(scheme, url: topic.url)
        guard let expected else { return }
        if isLocal(expected) {
            let reason = translated("is only for your own programs (OUReach), so the desktop opens none of its URLs")
            return add(.openers, .ok, "reach", expected, reason)
        }
        checkRemoval(of: scheme, from: expected)
        let type = scheme.mimeType
        let gio = files.tool("gio").map { ask([$0, "mime", type], marking: Self.gioDefault) } ?? .missing
        report("gio", gio, expected, scheme)
        let tool = files.tool("xdg-mime")
        let xdg = tool.map { ask([$0, "query", "default", type]) { $0 } } ?? .missing
        if let other = files.tool("xdg-open"), !Self.isOfXDGUtils(other) {
            let reason = translated(
                "is \(other), which is not the program of xdg-utils; only --probe shows what it chooses"
            )
            add(.openers, .skip, "xdg-open", "xdg-open", reason, file: other)
        } else {
            report("xdg-open", xdg, expected, scheme)
        }
        if environment["DISPLAY"] == nil, environment["WAYLAND_DISPLAY"] == nil, tool != nil {
            let reason = translated("opens desktop entries only if DISPLAY or WAYLAND_DISPLAY is set")
            add(.openers, .skip, "xdg-open", "xdg-open", reason)
        }
        checkKDE(type, expected, scheme)
        checkPortal(scheme, expected: expected)
        checkChooser(scheme, expected)
    }

    // MARK: openurl

    /// Returns the handler or application that the registry chooses.
    func destination(of scheme: Scheme, host: String?) -> String? {
        guard let winner = files.registry.winner(for: scheme, host: host) else { return nil }
        guard winner.handler != nil, winner.handler?.program == nil else { return winner.id }
        return files.associations.defaultApplication(for: scheme.mimeType, in: files.entries)?.id.rawValue
    }

    /// If no handler takes a scheme's URLs without a host, returns a host whose URLs a handler takes.
    private func onlyHost(of scheme: Scheme) -> String? {
        guard files.registry.winner(for: scheme, host: nil) == nil else { return nil }
        let claims = files.registry.handlers(claiming: scheme).flatMap(\.claims).filter { $0.schemes.contains(scheme) }
        return claims.first?.hosts?.first?.example
    }

    /// Whether a handler takes no URLs from the desktop.
    func isLocal(_ identifier: String) -> Bool { files.registry.handler(named: identifier)?.reach == .local }

    /// Returns whether a program is xdg-utils' script. Other programs have the same name.
    private static func isOfXDGUtils(_ path: String) -> Bool {
        do throws(FileError) {
            let text = try contents(ofFile: path, limit: 1 << 20, followingLinks: true)
            return String(decoding: text, as: UTF8.self).contains("open a URL in the registered default application")
        } catch {
            return false
        }
    }

    /// Reports a problem if the handler or application that the user asks about does not get the URLs of one of its
    /// schemes.
    private func checkChoice(of scheme: Scheme, for identifier: String) {
        let handler = files.registry.handler(named: identifier)
        guard let entry = DesktopFileID(name: identifier) else { return }
        let claimant = handler?.id.rawValue ?? entry.rawValue
        let type = scheme.mimeType
        let fix = "openurl default \(scheme) \(quotedForShell(claimant))"
        let chosen = files.associations.defaults(for: type).first { files.entries.entries[$0] != nil }
        if let chosen, case let winner = target(of: chosen.rawValue), winner != claimant {
            // If there is no default, the check of the claimants reports which one comes first.
            let file = MimeAssociations.file(choosing: chosen, for: type, in: files.desktop)
            let reason = translated("does not get \(scheme):, because \(file ?? "mimeapps.list") chooses \(winner)")
            add(.openers, .warn, "other-choice", claimant, reason, file: file, fix: fix)
        }
    }

    /// Reports a problem if a file keeps the desktop from opening a scheme with the scheme's handler or application.
    private func checkRemoval(of scheme: Scheme, from claimant: String) {
        let type = scheme.mimeType
        guard let entry = DesktopFileID(name: DesktopFileID.name(in: claimant) ?? claimant),
            files.associations.isRemoved(entry, from: type),
            !files.associations.defaults(for: type).contains(entry)
        else { return }
        let file = MimeAssociations.file(removing: entry, from: type, in: files.desktop)
        let reason = translated(
            "does not get \(scheme): from the desktop, because \(file ?? "mimeapps.list") removes it"
        )
        let fix = "openurl default \(scheme) \(quotedForShell(claimant))"
        add(.openers, .fail, "removed-association", claimant, reason, file: file, fix: fix)
    }

    /// Reports the handler that openurl chooses, and what the policy decides.
    private func explain(_ scheme: Scheme, url: String?) -> String? {
        let host = topic?.host ?? (url == nil ? onlyHost(of: scheme) : nil)
        let expected = destination(of: scheme, host: host)
        let url = url ?? host.map { "\(scheme)://\($0)/" } ?? "\(scheme):"
        let redacted = RedactedURL(url)
        if let bus, router != nil {
            do throws(CallError) {
                let input = Arguments(url, OpenOptions())
                let explanation = try bus.call(RouterInterface.explain, on: RouterService.object, input)
                if explanation.decision == .known(.deny) {
                    add(
                        .openers,
                        .fail,
                        "policy",
                        "openurl",
                        translated(
                            "denies the URL: \(explanation.decisionReason ?? translated("a rule of the policy"))"
                        ),
                        fix: "openurl policy allow \(scheme)"
                    )
                }
                if let error = explanation.error, explanation.decision != .known(.deny) {
                    let fix = expected.map { "openurl status \(quotedForShell($0))" } ?? registering(for: scheme)
                    let message = asking(whether: nearest(to: scheme), redacted.redacting(error.message))
                    add(.openers, .fail, "openurl", "openurl", message, fix: fix)
                    return expected
                }
                if let handler = explanation.handler, temporary.contains(where: { $0.id == handler }) {
                    // The desktop does not know about this handler, so there is nothing to compare.
                    add(
                        .openers,
                        .ok,
                        "openurl",
                        "openurl",
                        translated("\(handler), which is registered only temporarily")
                    )
                    return nil
                }
            } catch {
                let reason = redacted.redacting("\(error)")
                add(
                    .openers,
                    .skip,
                    "openurl",
                    "openurl",
                    translated("the router could not explain the URL: \(reason)")
                )
            }
        }
        if expected == nil, let host, !files.registry.claimants(of: scheme).isEmpty {
            let reason = translated("has no handler for \(scheme): with the host \(host)")
            add(.openers, .fail, "openurl", "openurl", reason, fix: "openurl list")
            return nil
        }
        guard let expected else {
            let reason =
                isFixed(scheme)
                ? translated(
                    """
                    has no handler for \(scheme):; install an application whose desktop entry has MimeType=\(scheme.mimeType)
                    """
                ) : translated("has no handler for \(scheme):")
            add(
                .openers,
                .fail,
                "openurl",
                "openurl",
                asking(whether: nearest(to: scheme), reason),
                fix: registering(for: scheme)
            )
            return nil
        }
        add(.openers, .ok, "openurl", "openurl", expected)
        return expected
    }

    /// Returns the command that gives a scheme a handler; nil if the scheme is fixed, because no manifest can claim it,
    /// or if it is misspelt.
    func registering(for scheme: Scheme) -> String? {
        isFixed(scheme) || nearest(to: scheme) != nil ? nil : "openurl register PATH"
    }

    /// Returns the scheme, with its colon, that was probably meant; nil if something claims this one.
    private func nearest(to scheme: Scheme) -> String? {
        guard !files.areClaimed(scheme) else { return nil }
        return scheme.rawValue.nearest(in: files.registry.schemes.map(\.rawValue)).map { "\($0):" }
    }

    private func isFixed(_ scheme: Scheme) -> Bool {
        files.registry.handlers(claiming: scheme).first?.isFixed == true
    }

    // MARK: Other openers

    /// An opener's choice.
    private enum Choice {
        /// The opener is not installed.
        case missing
        /// The opener hangs.
        case unanswered
        /// Nothing opens the scheme.
        case nothing
        /// A desktop file ID.
        case entry(String)

        init(_ entry: String?) { self = entry.map(Choice.entry) ?? .nothing }
    }

    /// Asks an opener.
    private func ask(_ arguments: [String], marking extract: (String) -> String?) -> Choice {
        let variables = environment.merging(["LC_ALL": "C"]) { $1 }
        switch RunningTool.run(arguments, environment: variables) {
        case .hung: return .unanswered
        case .failed: return .nothing
        case .output(let output):
            let text = extract(output)?.split(whereSeparator: \.isWhitespace).first.map(String.init)
            return Choice(text.flatMap(DesktopFileID.name(in:)) == nil ? nil : text)
        }
    }

    /// Finds the default in the output of `gio mime`, where it follows the last colon on the first line.
    private static func gioDefault(_ output: String) -> String? {
        guard let line = output.split(separator: "\n").first, line.hasPrefix("Default"),
            let colon = line.lastIndex(of: ":")
        else { return nil }
        return String(line[line.index(after: colon)...])
    }

    /// Reports the choice that KDE makes by its own rules, if KDE is installed.
    private func checkKDE(_ type: String, _ expected: String, _ scheme: Scheme) {
        let isKDE = files.desktop.currentDesktop.contains("kde")
        guard isKDE || ["kioclient", "kioclient5", "plasmashell"].contains(where: { files.tool($0) != nil }) else {
            return report("KDE", .missing, expected, scheme)
        }
        let choices = KDEApplications(environment: environment, entries: files.entries).preferred(for: type)
        guard choices.count > 1 else { return report("KDE", Choice(choices.first?.rawValue), expected, scheme) }
        // Suggest choosing what the user asks about, if KDE may choose it.
        let targets = choices.map { target(of: $0.rawValue) }
        let asked = targets.first { $0 == topic?.identifier }
        let list = targets.joined(separator: ", ")
        add(
            .openers,
            .warn,
            "kde",
            "KDE",
            translated("opens \(scheme): with any of \(list), because no default is chosen"),
            fix: "openurl default \(scheme) \(quotedForShell(asked ?? expected))"
        )
    }

    /// Reports the choice of one opener.
    private func report(_ opener: String, _ choice: Choice, _ expected: String, _ scheme: Scheme) {
        let check = opener.lowercased()
        let fix = "openurl default \(scheme) \(quotedForShell(expected))"
        let entry: String
        switch choice {
        case .missing: return add(.openers, .skip, check, opener, translated("is not installed"))
        case .unanswered:
            let reason =
                translated(
                    "did not answer within \(RunningTool.timeLimit.components.seconds) seconds, so its choice is not known"
                )
            return add(.openers, .warn, check, opener, reason)
        case .entry(let id): entry = id
        case .nothing:
            // Usually the reason has been found already.
            let cause = findings.first {
                Self.causes.contains($0.check) && ($0.part == .entries || $0.subject == expected)
            }
            let reason = translated("has nothing to open \(scheme): with")
            return add(.openers, .fail, check, opener, reason, fix: cause.map(\.fix) ?? fix)
        }
        let target = target(of: entry)
        guard target != expected else {
            let fact = entry == expected ? expected : translated("\(expected) (through \(entry))")
            return add(.openers, .ok, check, opener, fact)
        }
        let file = files.all.first { $0.location.id.rawValue == entry }?.location.file
        add(
            .openers,
            .warn,
            check,
            opener,
            translated("\(target), but openurl chooses \(expected)"),
            file: file,
            fix: fix
        )
    }

    /// The checks that find out why the desktop's programs have nothing with which to open a scheme.
    private static let causes: Set = ["stale-cache", "unpublished", "stale-entry", "foreign-entry"]

    /// Returns the handler or application that gets a URL if the desktop opens it with this entry.
    private func target(of id: String) -> String {
        // An entry's program may be gone, which is a different fault.
        guard let id = DesktopFileID(rawValue: id), let file = files.all.first(where: { $0.location.id == id }),
            case .application(let entry) = file.content
        else { return id }
        return entry.handler ?? id.rawValue
    }

    // MARK: The portal

    /// Reports a problem if the portal remembers a choice that differs.
    private func checkPortal(_ scheme: Scheme, expected: String?) {
        let isAsked = topic != nil
        guard let bus, bus.isAvailable(PermissionStore.name) else {
            if isAsked { add(.openers, .skip, "portal", "portal", translated("is not installed")) }
            return
        }
        let choices = portalChoices(scheme, bus)
        if choices.isEmpty, isAsked {
            add(.openers, .ok, "portal", "portal", translated("makes no choice of its own for \(scheme):"))
        }
        for (application, id) in choices {
            let target = target(of: id.rawValue)
            let caller = application.isEmpty ? translated("programs outside sandboxes") : application
            if target == expected {
                if isAsked {
                    add(.openers, .ok, "portal", "portal", translated("\(target), as remembered for \(caller)"))
                }
                continue
            }
            add(
                .openers,
                .warn,
                "portal",
                "portal",
                translated(
                    """
                    opens \(scheme): URLs from \(caller) with \(target), as remembered, but openurl chooses \
                    \(expected ?? translated("nothing"))
                    """
                ),
                fix: "gdbus call --session --dest \(PermissionStore.name) --object-path \(PermissionStore.object.path) "
                    + "--method \(PermissionStore.name).Delete \(PermissionStore.table) \(scheme.mimeType)"
            )
        }
    }

    /// The schemes that the portal opens with the default application, if there is one, no matter what the user has
    /// chosen in the portal's dialog (`should_use_default_app` in xdg-desktop-portal).
    private static let schemesOfDefaults: Set = ["http", "https", "ftp", "mailto", "webcal", "calendar"]
    /// How many times in a row the user has to make the same choice before the portal stops asking, unless the store
    /// has a different number.
    private static let usualThreshold: Int32 = 3

    /// Returns the choices that the portal makes without asking, with their callers.
    private func portalChoices(_ scheme: Scheme, _ bus: SessionBus) -> [(application: String, id: DesktopFileID)] {
        let type = scheme.mimeType
        let offered = applications(for: type)
        guard offered.isEmpty || !Self.schemesOfDefaults.contains(scheme.rawValue) else { return [] }
        do throws(CallError) {
            let input = Arguments(PermissionStore.table, type)
            let (permissions, data) = try bus.call(PermissionStore.lookup, on: PermissionStore.object, input).values
            guard data.options?["always-ask"] != true else { return [] }
            return permissions.sorted { $0.key < $1.key }.compactMap { application, values in
                guard let id = Self.decidedChoice(values, isOnlyOne: offered.count == 1),
                    files.entries.entries[id] != nil
                else {
                    return nil
                }
                return (application, id)
            }
        } catch {
            // The store has no entry for a scheme without a choice.
            return []
        }
    }

    /// Returns the application that the portal starts without asking; nil if it asks.
    ///
    /// - Parameters:
    ///   - values: the choice, how many times in a row it was made, and the number of times after which the portal
    ///     stops asking.
    ///   - isOnlyOne: whether there is only one application to choose.
    private static func decidedChoice(_ values: [String], isOnlyOne: Bool) -> DesktopFileID? {
        guard values.count > 1, let id = DesktopFileID(rawValue: DesktopFileID.text(ofName: values[0])) else {
            return nil
        }
        let written = values.count > 2 ? Int32(values[2]) : nil
        let threshold = written ?? usualThreshold
        let times = Int32(values[1]) ?? 0
        // The largest number means that the user has chosen to be asked each time.
        return threshold != .max && (isOnlyOne || times >= threshold) ? id : nil
    }

    // MARK: The chooser

    /// Reports whether the dialogs in which users choose an application show the destination.
    private func checkChooser(_ scheme: Scheme, _ expected: String) {
        let entry = files.entries.entries.values.first { $0.handler == expected || $0.id.rawValue == expected }
        // The check of the handler reports a missing entry.
        guard let entry else { return }
        let isListed = applications(for: scheme.mimeType).contains(entry.id)
        let shown =
            entry.isHiddenFromMenus
            ? translated("show it, except in KDE before Plasma 6.6, because of NoDisplay") : translated("show it")
        add(
            .openers,
            .ok,
            "chooser",
            translated("choosers"),
            isListed ? shown : translated("show it only among all applications"),
            file: entry.file
        )
    }

    /// The applications and handlers that the desktop associates with a type.
    private func applications(for type: String) -> Set<DesktopFileID> {
        let associated = files.associations.associated(with: type, in: files.entries)
        // The associations leave out handlers' entries.
        let claiming = files.entries.entries.values.filter {
            $0.mimeTypes.contains(type) && !files.associations.isRemoved($0.id, from: type)
        }
        return Set((associated + claiming).map(\.id))
    }
}
