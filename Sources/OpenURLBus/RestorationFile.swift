public import DBus
internal import Glibc
public import SystemPackage

/// Where a handler keeps the state that it saves, for the handler, which writes it, and the router, which removes it when a
/// person ends the handler.
public enum RestorationFile {
    /// The file's path: `$XDG_STATE_HOME/openurl/<bundle identifier>.state`, below `~/.local/state` where the variable is not
    /// set or not absolute; nil without a home directory.
    public static func path(of id: BusName, _ environment: [String: String]) -> String? {
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") { return "\(home)/openurl/\(id).state" }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return "\(home)/.local/state/openurl/\(id).state"
    }

    /// Removes the file, and what a launch that crashed has left of it; does nothing where there is none.
    public static func remove(of id: BusName, _ environment: [String: String]) throws(Errno) {
        guard let path = path(of: id, environment) else { return }
        for path in [path, "\(path).restoring"] where unlink(path) != 0 && errno != ENOENT {
            throw Errno(rawValue: errno)
        }
    }
}
