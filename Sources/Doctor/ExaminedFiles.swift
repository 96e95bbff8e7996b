internal import Desktop
internal import Glibc
internal import SchemeRegistry
internal import Translations
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
    /// Returns why no file in a directory can be written; nil if nothing prevents it.
    var obstacle: @Sendable (_ directory: String) -> String? = { Self.obstacle(toWritingIn: $0) }

    init(environment: [String: String], installation: InstalledFiles?) {
        self.environment = environment
        self.installation = installation
        desktop = DesktopDirectories(environment: environment)
        directories = RegistryDirectories(environment: environment, additional: installation?.handlers)
        let (locations, diagnostics) = DesktopEntries.locations(in: desktop)
        all = locations.map { [desktop] in DesktopFile(reading: $0, languages: desktop.languages) }
        entries = DesktopEntries(of: all, in: desktop, diagnostics: diagnostics)
        associations = MimeAssociations(loading: desktop)
        // A relative path does not count, so there are no system directories.
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
            // The registry already reports the directory.
            return []
        }
    }

    private static func obstacle(toWritingIn directory: String) -> String? {
        var system = statvfs()
        // A directory that does not exist yet is created in the one above it.
        guard statvfs(directory, &system) == 0 else {
            return errno == ENOENT && directory.count > 1 ? obstacle(toWritingIn: parentDirectory(of: directory)) : nil
        }
        if system.f_flag & readOnly != 0 { return translated("the file system of \(directory) is read-only") }
        if system.f_bavail == 0, system.f_blocks > 0 { return translated("the disk with \(directory) is full") }
        return access(directory, W_OK) == 0 ? nil : translated("you may not write to \(directory)")
    }

    /// `ST_RDONLY` of statvfs(3).
    private static let readOnly: UInt = 1

    /// The schemes of the registered handlers. The schemes of system handlers are left out, because the desktop's own
    /// applications get their URLs.
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

    /// Returns when a handler's manifest or program was last changed, in microseconds since 1970; nil if the handler
    /// has neither.
    func lastChange(ofHandler id: String) -> UInt64? {
        guard let handler = registry.handler(named: id) else { return nil }
        var paths = [handler.path]
        switch handler.program {
        case .path(let path): paths.append(path)
        case .nameOnPath(let name): paths += [tool(name)].compactMap(\.self)
        case .desktopEntry, nil: break
        }
        let times = paths.compactMap { path -> Int64? in
            var status = stat()
            return stat(path, &status) == 0 ? FileVersion(status).changed : nil
        }
        return times.max().map { UInt64(clamping: $0 / 1000) }
    }

    /// Returns the path of one of the desktop's programs; nil if it is not installed.
    func tool(_ name: String) -> String? { programPath(named: name, in: environment["PATH"]) }
}

/// Returns a path without links; the path itself if it cannot be resolved.
func resolved(_ path: String) -> String {
    do throws(FileError) {
        return try resolvedPath(path)
    } catch {
        return path
    }
}

/// The files that are installed together with the doctor's program.
public struct InstalledFiles: Sendable, Hashable {
    /// The path of the `openurl` command.
    public let command: String
    /// The path of the router's program.
    public let router: String
    /// The installation's data directory, such as `/usr/local/share`.
    public let share: String
    /// The directory of the handlers that are installed for all users.
    public let handlers: String
    /// The path of `openurl-chooser`, which may be missing; nil if it is unknown.
    public let chooser: String?

    /// Creates an installation's files.
    public init(command: String, router: String, share: String, handlers: String, chooser: String? = nil) {
        self.command = command
        self.router = router
        self.share = share
        self.handlers = handlers
        self.chooser = chooser
    }
}
