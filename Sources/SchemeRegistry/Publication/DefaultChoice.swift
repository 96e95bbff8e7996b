public import Desktop
public import UserFiles

/// Why a user's choice for a scheme was not noted.
public enum DefaultError: Error, Hashable, CustomStringConvertible {
    /// The text is no scheme.
    case badScheme(String, Scheme.ParseError)
    /// Nothing of the name is installed.
    case unknown(String)
    /// The handler does not claim the scheme, or may not as it is the system's.
    case notClaimed(BundleIdentifier, Scheme)
    /// The desktop has no entry that stands for the handler.
    case notPublished(BundleIdentifier)
    /// There is no place for the user's configuration: neither `XDG_CONFIG_HOME` nor `HOME` is an absolute path.
    case noConfigurationDirectory
    /// The file was not written.
    case file(FileWriteError)

    /// What is wrong and what to do.
    public var description: String {
        switch self {
        case .badScheme(let text, let error): "the scheme '\(printable(text))' \(error)"
        case .unknown(let id):
            "nothing is called \(printable(id)); `openurl list` shows handlers and applications"
        case .notClaimed(let id, let scheme): "\(id) does not claim \(scheme):; its manifest has to"
        case .notPublished(let id):
            "\(id) has no desktop entry of its own to choose; another program's is in its place, or it cannot be written"
        case .noConfigurationDirectory:
            "there is no directory for the choice; set HOME or XDG_CONFIG_HOME to an absolute path"
        case .file(let error): error.description
        }
    }
}

extension Registry {
    /// Writes the user's choice for a scheme to `mimeapps.list`, where the desktop and other programs find it too.
    ///
    /// Blocks on files; load the applications again afterwards.
    ///
    /// - Parameter id: a handler's, or the name of a desktop file; empty takes the choice back.
    public func setDefault(
        _ id: String,
        for scheme: String,
        in directories: DesktopDirectories
    ) throws(DefaultError) {
        guard let file = MimeAssociationsFile(in: directories) else { throw .noConfigurationDirectory }
        let scheme = try checked(scheme)
        let target = id.isEmpty ? nil : try desktopFile(id, opening: scheme)
        do throws(FileWriteError) {
            if let target {
                try file.setDefault(target, for: scheme.mimeType)
            } else {
                try file.removeDefault(for: scheme.mimeType)
            }
        } catch {
            throw .file(error)
        }
    }

    private func checked(_ text: String) throws(DefaultError) -> Scheme {
        do throws(Scheme.ParseError) {
            return try Scheme(text)
        } catch {
            throw .badScheme(text, error)
        }
    }

    private func desktopFile(_ text: String, opening scheme: Scheme) throws(DefaultError) -> DesktopFileID {
        if let handler = handlers.first(where: { $0.id.rawValue == text }) {
            guard handler.schemes.contains(scheme), handler.program != nil else {
                throw .notClaimed(handler.id, scheme)
            }
            guard let id = handler.desktopFileID, applications.entries.entries[id]?.handler == text else {
                throw .notPublished(handler.id)
            }
            return id
        }
        guard let id = DesktopFileID(rawValue: text), applications[id] != nil else { throw .unknown(text) }
        return id
    }
}
