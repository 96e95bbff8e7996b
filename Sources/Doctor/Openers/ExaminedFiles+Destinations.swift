internal import Desktop
internal import SchemeRegistry
internal import Spelling

extension ExaminedFiles {
    /// Returns the handler or application that the registry chooses.
    func destination(of scheme: Scheme, host: String?) -> String? {
        guard let winner = registry.winner(for: scheme, host: host) else { return nil }
        guard winner.handler != nil, winner.handler?.program == nil else { return winner.id }
        return associations.defaultApplication(for: scheme.mimeType, in: entries)?.id.rawValue
    }

    /// Whether a handler takes no URLs from the desktop.
    func isLocal(_ identifier: String) -> Bool { registry.handler(named: identifier)?.reach == .local }

    /// Returns the handler or application that gets a URL if the desktop opens it with this entry.
    func target(of id: String) -> String {
        // An entry's program may be gone, which is a different fault.
        guard let id = DesktopFileID(rawValue: id), let file = all.first(where: { $0.location.id == id }),
            case .application(let entry) = file.content
        else { return id }
        return entry.handler ?? id.rawValue
    }

    /// The applications and handlers that the desktop associates with a type.
    func applications(for type: String) -> Set<DesktopFileID> {
        let associated = associations.associated(with: type, in: entries)
        // The associations leave out handlers' entries.
        let claiming = entries.entries.values.filter {
            $0.mimeTypes.contains(type) && !associations.isRemoved($0.id, from: type)
        }
        return Set((associated + claiming).map(\.id))
    }

    /// Returns the command that gives a scheme a handler; nil if the scheme is fixed, because no manifest can claim it,
    /// or if it is misspelt.
    func registering(for scheme: Scheme) -> String? {
        isFixed(scheme) || nearest(to: scheme) != nil ? nil : "openurl register PATH"
    }

    /// Returns the scheme, with its colon, that was probably meant; nil if something claims this one.
    func nearest(to scheme: Scheme) -> String? {
        guard !areClaimed(scheme) else { return nil }
        return scheme.rawValue.nearest(in: registry.schemes.map(\.rawValue)).map { "\($0):" }
    }

    func isFixed(_ scheme: Scheme) -> Bool {
        registry.handlers(claiming: scheme).first?.isFixed == true
    }
}
