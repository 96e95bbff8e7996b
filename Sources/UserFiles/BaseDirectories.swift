/// The directories of the XDG Base Directory Specification, as given by an environment.
///
/// According to the specification, an empty variable counts as unset, and a relative path is ignored. If a directory is
/// listed twice, its first position counts. No path has a doubled slash or a slash at the end.
package struct BaseDirectories: Sendable, Hashable {
    /// `$XDG_CACHE_HOME` or `$HOME/.cache`; `nil` if the environment gives neither.
    package let cacheHome: String?
    /// `$XDG_CONFIG_HOME` or `$HOME/.config`; `nil` if the environment gives neither.
    package let configurationHome: String?
    /// `$XDG_CONFIG_DIRS` or `/etc/xdg`, without ``configurationHome``.
    package let configurationDirectories: [String]
    /// `$XDG_DATA_HOME` or `$HOME/.local/share`; `nil` if the environment gives neither.
    package let dataHome: String?
    /// `$XDG_DATA_DIRS` or `/usr/local/share:/usr/share`, without ``dataHome``.
    package let dataDirectories: [String]
    /// `$XDG_STATE_HOME` or `$HOME/.local/state`; `nil` if the environment gives neither.
    package let stateHome: String?
    /// `$XDG_RUNTIME_DIR`, which the system empties when the user logs out; `nil` if the environment does not give it.
    package let runtimeDirectory: String?

    /// Takes the directories from an environment.
    package init(environment: [String: String]) {
        func home(_ variable: String, _ subdirectory: String) -> String? {
            // If HOME were empty, the subdirectory would be in the root.
            let fallback = environment["HOME"].flatMap { $0.isEmpty ? nil : "\($0)/\(subdirectory)" }
            return [environment[variable], fallback].compactMap { $0 }.first(where: isAbsolute).map(normalizedPath)
        }
        cacheHome = home("XDG_CACHE_HOME", ".cache")
        configurationHome = home("XDG_CONFIG_HOME", ".config")
        dataHome = home("XDG_DATA_HOME", ".local/share")
        stateHome = home("XDG_STATE_HOME", ".local/state")
        runtimeDirectory = environment["XDG_RUNTIME_DIR"].flatMap { isAbsolute($0) ? normalizedPath($0) : nil }
        configurationDirectories = directories(in: environment["XDG_CONFIG_DIRS"], default: "/etc/xdg")
            .filter { [configurationHome] in $0 != configurationHome }
        dataDirectories = directories(in: environment["XDG_DATA_DIRS"], default: "/usr/local/share:/usr/share")
            .filter { [dataHome] in $0 != dataHome }
    }
}

/// Returns the absolute directories in a colon-separated list such as `PATH`, each of them once.
///
/// - Parameter default: the list to use if `list` is unset or empty.
package func directories(in list: String?, default: String) -> [String] {
    let list = list.flatMap { $0.isEmpty ? nil : $0 } ?? `default`
    var seen: Set<String> = []
    return list.split(separator: ":").filter(isAbsolute).map { normalizedPath(String($0)) }
        .filter { seen.insert($0).inserted }
}
