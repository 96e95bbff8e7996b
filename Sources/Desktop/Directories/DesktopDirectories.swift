internal import UserFiles

/// Where the desktop's files are, in order of precedence.
///
/// The directories of the XDG Base Directory Specification. An empty variable counts as unset and a relative path is
/// ignored, as it says; a directory that is named twice counts where it stands first.
public struct DesktopDirectories: Sendable, Hashable {
    /// `$XDG_CONFIG_HOME` or `$HOME/.config`; `nil` if the environment gives neither.
    public let configurationHome: String?
    /// `$XDG_CONFIG_DIRS` or `/etc/xdg`.
    public let configurationDirectories: [String]
    /// `$XDG_DATA_HOME` or `$HOME/.local/share`; `nil` if the environment gives neither.
    public let dataHome: String?
    /// `$XDG_DATA_DIRS` or `/usr/local/share:/usr/share`.
    public let dataDirectories: [String]
    /// The names in `XDG_CURRENT_DESKTOP`, in lower case, in order.
    ///
    /// A name that is not made of letters, digits, `-` and `_` is left out: it becomes part of a file's name.
    public let currentDesktop: [String]
    /// The suffixes of localised keys that the user reads, best first: `de_DE@euro`, `de_DE`, `de@euro`, `de`.
    public let languages: [String]
    /// The absolute directories in `PATH`.
    public let searchPath: [String]

    /// The directories that an environment names: the session's, and never a caller's.
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
    }

    /// The directories of desktop entries, the user's first: `applications` in each data directory.
    ///
    /// An entry's ``DesktopEntry/precedence`` is its directory's place in this list.
    public var applicationDirectories: [String] {
        ([dataHome].compactMap { $0 } + dataDirectories).map { "\($0)/applications" }
    }

    /// The user's own directory of desktop entries.
    public var userApplicationDirectory: String? { dataHome.map { "\($0)/applications" } }

    /// The user's own directory of services that the session bus can start (D-Bus Specification, "Message Bus Starting
    /// Services").
    public var userServiceDirectory: String? { dataHome.map { "\($0)/dbus-1/services" } }

    /// Every file of associations that counts, in order of precedence (MIME Applications Associations, "File name and
    /// location").
    ///
    /// In each directory `$desktop-mimeapps.list` comes before `mimeapps.list`. `defaults.list` in the directories of
    /// entries is in no specification; GLib still reads it, and distributions still ship it.
    public var associationFiles: [AssociationFile] {
        let desktops = currentDesktop.map { ("\($0)-mimeapps.list", true) }
        let configuration = [configurationHome].compactMap { $0 } + configurationDirectories
        return configuration.flatMap { directory in
            (desktops + [("mimeapps.list", false)]).map { name, isPartial in
                AssociationFile(path: "\(directory)/\(name)", precedence: nil, onlyDefaults: isPartial)
            }
        }
            + applicationDirectories.enumerated().flatMap { precedence, directory in
                (desktops + [("mimeapps.list", false), ("defaults.list", true)]).map { name, isPartial in
                    AssociationFile(path: "\(directory)/\(name)", precedence: precedence, onlyDefaults: isPartial)
                }
            }
    }

    /// The file that a choice of the user's is written to: `mimeapps.list` in ``configurationHome``.
    public var writtenAssociationFile: String? { configurationHome.map { "\($0)/mimeapps.list" } }
}

/// One of the files that associate MIME types with applications.
public struct AssociationFile: Sendable, Hashable {
    /// Where it is, if it exists.
    public let path: String
    /// The place of its directory in ``DesktopDirectories/applicationDirectories``; `nil` for a directory of
    /// configuration.
    public let precedence: Int?
    /// Whether only `[Default Applications]` counts in it: a file for one desktop adds and removes no associations.
    public let onlyDefaults: Bool
}

/// The suffixes that localised keys are looked up with (Desktop Entry Specification, "Localized values for keys"), for
/// the locale of messages: `LC_ALL`, `LC_MESSAGES`, `LANG`, and gettext's list `LANGUAGE` before them unless they say
/// that nothing is translated.
private func localeSuffixes(_ environment: [String: String]) -> [String] {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty }
    guard let locale, locale != "C", locale != "POSIX", !locale.hasPrefix("C.") else { return [] }
    let list = environment["LANGUAGE"].flatMap { $0.isEmpty ? nil : $0 }
    var seen: Set<String> = []
    return (list.map { $0.split(separator: ":") } ?? [locale[...]]).flatMap { locale in
        // lang_COUNTRY.ENCODING@MODIFIER, all but the language optional.
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
    /// What comes before and after the first occurrence of a character.
    fileprivate func cut(at character: Character) -> (before: Substring, after: Substring?) {
        guard let index = firstIndex(of: character) else { return (self, nil) }
        return (self[..<index], self[self.index(after: index)...])
    }
}
