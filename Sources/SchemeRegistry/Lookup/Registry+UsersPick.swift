internal import Desktop

/// The handler that the user has picked in the desktop's chooser, for one URL or file.
extension Registry {
    /// Returns the handler that the user picked on the desktop; `nil` if the desktop only followed its own order.
    ///
    /// The desktop passes every URL with a scheme, no matter what the host is, through the entry that comes first in
    /// its order, and that entry leaves the choice to the registry. If the URL comes through another entry, the user
    /// has picked that entry, as long as its handler claims the URL.
    ///
    /// - Parameters:
    ///   - entry: the name of the desktop entry through which the desktop passes the URL.
    ///   - scheme: the URL's scheme.
    ///   - host: the host as written in the URL; `nil` if the URL has no host.
    public func handlerPicked(by entry: String, for scheme: Scheme, host: String?) -> String? {
        guard let id = DesktopFileID(rawValue: entry),
            let handler = handlerClaims(for: scheme, host: host).first(where: { $0.handler.desktopFileID == id })?
                .handler,
            applications.places(for: scheme.mimeType, with: handlers(claiming: scheme)).first?.id != id
        else { return nil }
        return handler.id.rawValue
    }

    /// Returns the handler that the user picked on the desktop for a file; `nil` if the desktop only followed its own
    /// order.
    ///
    /// Choosers offer every application for a file, so a pick counts even if the handler does not claim this file, as
    /// long as it claims some files.
    ///
    /// - Parameter entry: the name of the desktop entry through which the desktop passes the file.
    public func handlerPicked(by entry: String, for file: FileKind) -> Handler? {
        guard let id = DesktopFileID(rawValue: entry),
            let handler = handler(named: id.name),
            handler.desktopFileID == id, !handler.fileClaims.isEmpty
        else { return nil }
        for case .type(let type) in file.keys {
            let handlers = handlerClaims(on: .type(type)).map(\.handler)
            guard let first = applications.places(for: type.rawValue, with: handlers).first else { continue }
            return first.id == id ? nil : handler
        }
        return handler
    }
}
