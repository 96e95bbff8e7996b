internal import Desktop
internal import SchemeRegistry
internal import UserFiles

/// The files that decide about URLs, as this process finds them.
///
/// The router has read the same files, but may not be running, so the doctor does not rely on it.
struct ExaminedFiles {
    let environment: [String: String]
    let installation: InstalledFiles?
    let desktop: DesktopDirectories
    let directories: RegistryDirectories
    let registry: Registry
    /// The desktop's files, in the order of their precedence.
    let all: [DesktopFile]
    let entries: DesktopEntries
    let associations: MimeAssociations
    /// The associations in the user's own files.
    let usersAssociations: MimeAssociations
    /// The names of the manifests and bundles in the user's directory.
    let manifests: [String]

    init(environment: [String: String], installation: InstalledFiles?) {
        self.environment = environment
        self.installation = installation
        desktop = DesktopDirectories(environment: environment)
        directories = RegistryDirectories(environment: environment, additional: installation?.handlers)
        let (locations, diagnostics) = DesktopEntries.locations(in: desktop)
        all = locations.map { [desktop] in DesktopFile(reading: $0, languages: desktop.languages) }
        entries = DesktopEntries(of: all, in: desktop, diagnostics: diagnostics)
        associations = MimeAssociations(loading: desktop)
        // A relative path does not count, so there are no directories of the system.
        let system = ["XDG_CONFIG_DIRS": "none", "XDG_DATA_DIRS": "none"]
        usersAssociations = MimeAssociations(
            loading: DesktopDirectories(environment: environment.merging(system) { $1 })
        )
        var loader = RegistryLoader(directories, services: DBusServiceNames(in: desktop.serviceDirectories))
        loader.readServices(isQuick: false)
        _ = loader.update()
        var registry = loader.registry
        registry.applications = DesktopApplications(entries: entries, associations: associations)
        self.registry = registry
        manifests = directories.user.map(Self.names) ?? []
    }

    private static func names(_ directory: String) -> [String] {
        do throws(FileError) {
            return (try UserFiles.names(inDirectory: directory) ?? []).map { String(decoding: $0, as: UTF8.self) }
        } catch {
            // The registry reports the directory.
            return []
        }
    }

    /// The schemes of the registered handlers. Those of the system are left out, because the desktop's own applications
    /// get their URLs.
    var handlerSchemes: [Scheme] {
        Set(registry.handlers.filter { !$0.isFixed }.flatMap(\.schemes)).sorted()
    }

    /// Returns whether a handler or an entry claims a scheme, even an entry whose program no longer exists.
    func areClaimed(_ scheme: Scheme) -> Bool {
        !registry.claimants(of: scheme).isEmpty
            || all.contains { file in
                guard case .application(let entry) = file.content else { return false }
                return entry.mimeTypes.contains(scheme.mimeType)
            }
    }

    /// Returns the path of a program of the desktop; nil if it is not installed.
    func tool(_ name: String) -> String? { programPath(named: name, in: environment["PATH"]) }
}

/// The files that are installed beside the doctor's program.
public struct InstalledFiles: Sendable, Hashable {
    /// The path of the `openurl` command.
    public let command: String
    /// The path of the router's program.
    public let router: String
    /// The data directory of the installation, such as `/usr/local/share`.
    public let share: String
    /// The directory of the handlers that are installed for all users.
    public let handlers: String

    /// Creates the files of an installation.
    public init(command: String, router: String, share: String, handlers: String) {
        self.command = command
        self.router = router
        self.share = share
        self.handlers = handlers
    }
}
