internal import Desktop
internal import OpenURLBus
internal import SchemeRegistry
internal import UserFiles
internal import WebLinks

/// Describes handlers in the form that the registry's interface uses.
///
/// It belongs to the router's actor.
final class HandlerEntries {
    private let handlers: KnownHandlers
    private let lifecycle: HandlerLifecycle

    init(_ handlers: KnownHandlers, _ lifecycle: HandlerLifecycle) {
        self.handlers = handlers
        self.lifecycle = lifecycle
    }

    /// Returns the list for the registry's interface: every handler with its state, and every application that opens
    /// URLs.
    ///
    /// - Parameter namesRivals: whether the caller may learn which others claim a handler's schemes and files.
    func all(_ resources: [BundleIdentifier: BundleResources], namingRivals namesRivals: Bool) -> [HandlerEntry] {
        let diagnostics = handlers.registry.diagnosticsByEntry
        let entries = handlers.registry.handlers.map { handler in
            var entry = entry(handler)
            entry.warnings = (diagnostics[handler.entry] ?? []).map(\.description)
            if namesRivals { entry.warnings += Rivalries(of: handler, in: handlers.registry).all }
            if let resources = resources[handler.id] {
                entry.name = resources.name ?? entry.name
                entry.urlNames = resources.urlNames
                entry.typeNames = resources.typeNames
                entry.launchImage = resources.launchImage() ?? ""
                entry.warnings += resources.diagnostics.map(\.description)
            }
            return entry
        }
        return entries + handlers.registry.applications.all.compactMap(entry)
    }

    /// Returns nil for an application that opens no URLs.
    private func entry(_ application: DesktopEntry) -> HandlerEntry? {
        let schemes = handlers.registry.applications.schemes(of: application.id)
        guard !schemes.isEmpty else { return nil }
        var entry = HandlerEntry(
            id: application.id.rawValue,
            name: application.name,
            executable: application.command?.program ?? "",
            schemes: schemes.map(\.rawValue),
            kind: .known(HandlerKind(Claimant.application(application).kind)),
            isFixed: false,
            state: .absent,
            warnings: []
        )
        entry.desktopEntry = application.file
        return entry
    }

    func entry(_ handler: Handler) -> HandlerEntry {
        var entry = HandlerEntry(
            id: handler.id.rawValue,
            name: handler.name,
            executable: handler.program?.description ?? "",
            schemes: handler.schemes.map(\.rawValue),
            kind: .known(HandlerKind(handler.kind)),
            isFixed: handler.isFixed,
            state: .known(lifecycle.state(of: handler)),
            warnings: []
        )
        entry.manifest = handler.manifestPath
        entry.bundle = handler.isBundle ? handler.path : nil
        entry.reach = Reported(rawValue: handler.reach.rawValue)
        entry.domains = handler.associatedDomains.map(\.description)
        entry.types = handler.fileClaims.map(\.key.description)
        entry.temporary = handlers.temporary.reason(for: handler.id).map(Reported.known) ?? .absent
        return entry
    }
}
