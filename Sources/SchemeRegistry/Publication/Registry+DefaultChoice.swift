public import Desktop
public import UserFiles

/// The reason why a user's choice for a scheme was not saved.
public enum DefaultError: Error, Hashable, CustomStringConvertible {
    /// The text is not a scheme.
    case badScheme(String, Scheme.ParseError)
    /// No handler or application has this name.
    case unknown(String)
    /// The handler does not claim the scheme, or the handler is a system handler without a program.
    case notClaimed(BundleIdentifier, Scheme)
    /// The application does not claim the scheme, and no file of the desktop assigns the scheme to it.
    case notAssigned(DesktopFileID, Scheme)
    /// The desktop has no entry that stands for the handler.
    case notPublished(BundleIdentifier)
    /// There is no directory for the user's configuration: neither `XDG_CONFIG_HOME` nor `HOME` is an absolute path.
    case noConfigurationDirectory
    /// The file could not be written.
    case file(FileWriteError)

    /// The error, and how to correct it.
    public var description: String {
        switch self {
        case .badScheme(let text, let error): "the scheme '\(printable(text))' \(error)"
        case .unknown(let id):
            "nothing is called \(printable(id)); `openurl list` shows handlers and applications"
        case .notClaimed(let id, let scheme): "\(id) does not claim \(scheme):; its manifest has to"
        case .notAssigned(let id, let scheme):
            "\(id) does not claim \(scheme):; its desktop entry has to, with MimeType=\(scheme.mimeType)"
        case .notPublished(let id):
            "\(id) has no desktop entry of its own to choose; another program's is in its place, it cannot be written, "
                + "or the manifest has OUReach local"
        case .noConfigurationDirectory:
            "there is no directory for the choice; set HOME or XDG_CONFIG_HOME to an absolute path"
        case .file(let error): error.description
        }
    }
}

extension Registry {
    /// Writes the user's choice for a scheme to `mimeapps.list`, which the desktop and other programs also read.
    ///
    /// The function blocks while it reads and writes files. Load the applications again afterwards.
    ///
    /// - Parameters:
    ///   - id: the id of a handler, or the name of a desktop file. An empty id removes the choice.
    ///   - scheme: the scheme.
    ///   - directories: the desktop's directories.
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
        guard applications.claiming(scheme).contains(where: { $0.id == id }) else { throw .notAssigned(id, scheme) }
        return id
    }
}
