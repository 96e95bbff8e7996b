internal import UserFiles

/// The desktop's directories and files, in order of precedence.
///
/// They are those of the XDG Base Directory Specification. According to that specification, an empty variable counts as
/// unset, and a relative path is ignored. If a directory is listed twice, only its first position counts.
public struct DesktopDirectories: Sendable, Hashable {
    /// `$XDG_CONFIG_HOME` or `$HOME/.config`; `nil` if the environment gives neither.
    public let configurationHome: String?
    /// `$XDG_CONFIG_DIRS` or `/etc/xdg`.
    public let configurationDirectories: [String]
    /// `$XDG_DATA_HOME` or `$HOME/.local/share`; `nil` if the environment gives neither.
    public let dataHome: String?
    /// `$XDG_DATA_DIRS` or `/usr/local/share:/usr/share`.
    public let dataDirectories: [String]
    /// The names in `XDG_CURRENT_DESKTOP`, in lower case and in order.
    ///
    /// Because each becomes part of a file name, a name that contains a character other than a letter, a digit, `-` or
    /// `_` is left out.
    public let currentDesktop: [String]
    /// The suffixes of localised keys for the user's languages, the best first: `de_DE@euro`, `de_DE`, `de@euro`, `de`.
    public let languages: [String]
    /// All absolute directories in `PATH`, in order.
    public let searchPath: [String]
    /// The directories of service files that a session bus reads, the user's first (dbus-daemon(1),
    /// `standard_session_servicedirs`).
    public let serviceDirectories: [String]

    /// Creates the directories given by an environment, which must be the session's, never a caller's.
    public init(environment: [String: String]) {
        let base = BaseDirectories(environment: environment)
        configurationHome = base.configurationHome
        dataHome = base.dataHome
        configurationDirectories = base.configurationDirectories
        dataDirectories = base.dataDirectories
        currentDesktop = (environment["XDG_CURRENT_DESKTOP"] ?? "").split(separator: ":")
            .filter { $0.unicodeScalars.allSatisfy(isNameScalar) }
            .map { asciiLowercased(String($0)) }
        languages = localeSuffixes(environment)
        searchPath = directories(in: environment["PATH"], default: "/usr/local/bin:/usr/bin:/bin")
        let homes = [base.dataHome, base.runtimeDirectory].compactMap { $0 }
        serviceDirectories = (homes + base.dataDirectories).map { "\($0)/\(Self.serviceSubdirectory)" }
    }

    /// Creates directories with a single data directory, such as `/usr/share`, which takes the place of the user's.
    public init(dataDirectory: String) {
        configurationHome = nil
        configurationDirectories = []
        dataHome = dataDirectory
        dataDirectories = []
        currentDesktop = []
        languages = []
        searchPath = []
        serviceDirectories = ["\(dataDirectory)/\(Self.serviceSubdirectory)"]
    }

    private static let serviceSubdirectory = "dbus-1/services"

    /// Directories of desktop entries: `applications` in each data directory, the user's first.
    ///
    /// ``DesktopEntry/precedence`` is an index into this list.
    public var applicationDirectories: [String] {
        ([dataHome].compactMap { $0 } + dataDirectories).map { "\($0)/applications" }
    }

    /// The caches of the shared MIME database, in order of precedence (Shared MIME-info Specification, "Directory
    /// layout").
    public var mimeCacheFiles: [String] {
        ([dataHome].compactMap { $0 } + dataDirectories).map { "\($0)/mime/mime.cache" }
    }

    /// The user's own directory of desktop entries.
    public var userApplicationDirectory: String? { dataHome.map { "\($0)/applications" } }

    /// The user's own directory of service files, from which the session bus can start services (D-Bus Specification,
    /// "Message Bus Starting Services").
    public var userServiceDirectory: String? { dataHome.map { "\($0)/\(Self.serviceSubdirectory)" } }

    /// All association files, in order of precedence (MIME Applications Associations, "File name and location").
    ///
    /// In each directory, `$desktop-mimeapps.list` comes before `mimeapps.list`. No specification mentions
    /// `defaults.list` in the directories for entries, but GLib still reads it, and distributions still install it.
    public var associationFiles: [AssociationFile] {
        var files: [AssociationFile] = []
        func add(_ name: String, in directory: String, _ precedence: Int?, onlyDefaults: Bool) {
            files.append(
                AssociationFile(path: "\(directory)/\(name)", precedence: precedence, onlyDefaults: onlyDefaults)
            )
        }
        func addFiles(in directory: String, _ precedence: Int?) {
            for desktop in currentDesktop {
                add("\(desktop)-mimeapps.list", in: directory, precedence, onlyDefaults: true)
            }
            add("mimeapps.list", in: directory, precedence, onlyDefaults: false)
        }
        for directory in [configurationHome].compactMap(\.self) + configurationDirectories {
            addFiles(in: directory, nil)
        }
        for (precedence, directory) in applicationDirectories.enumerated() {
            addFiles(in: directory, precedence)
            add("defaults.list", in: directory, precedence, onlyDefaults: true)
        }
        return files
    }

    /// The file for the user's choices: `mimeapps.list` in ``configurationHome``.
    public var writtenAssociationFile: String? { configurationHome.map { "\($0)/mimeapps.list" } }
}

/// A file that associates MIME types with applications.
public struct AssociationFile: Sendable, Hashable {
    /// The file's path. The file need not exist.
    public let path: String
    /// Index of the file's directory in ``DesktopDirectories/applicationDirectories``; `nil` for a configuration
    /// directory.
    public let precedence: Int?
    /// Whether only the group `[Default Applications]` counts, because a file for one desktop can neither add nor
    /// remove associations.
    public let onlyDefaults: Bool
}

/// Returns the suffixes with which to look up localised keys, the best first (Desktop Entry Specification, "Localized
/// values for keys").
///
/// The locale of messages comes from `LC_ALL`, `LC_MESSAGES` or `LANG`. The list in `LANGUAGE`, a gettext extension,
/// takes precedence unless the locale turns translation off.
private func localeSuffixes(_ environment: [String: String]) -> [String] {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty }
    guard let locale, locale != "C", locale != "POSIX", !locale.hasPrefix("C.") else { return [] }
    let list = environment["LANGUAGE"].flatMap { $0.isEmpty ? nil : $0 }
    var seen: Set<String> = []
    return (list.map { $0.split(separator: ":") } ?? [locale[...]]).flatMap { locale in
        // The format is `lang_COUNTRY.ENCODING@MODIFIER`. Only the language is mandatory.
        let (rest, modifier) = locale.cut(at: "@")
        let (language, country) = rest.cut(at: ".").before.cut(at: "_")
        let full = country.map { "\(language)_\($0)" }
        return [
            full.flatMap { full in modifier.map { "\(full)@\($0)" } }, full,
            modifier.map { "\(language)@\($0)" }, String(language),
        ].compactMap { $0 }
    }.filter { seen.insert($0).inserted }
}

extension Substring {
    /// Returns the text before and after the first occurrence of a character.
    fileprivate func cut(at character: Character) -> (before: Substring, after: Substring?) {
        guard let index = firstIndex(of: character) else { return (self, nil) }
        return (self[..<index], self[self.index(after: index)...])
    }
}
