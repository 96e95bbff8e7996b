internal import Glibc
internal import OpenURLBus
internal import Processes

/// Compares the program that owns the router's name with the one that should own it.
///
/// The command, the library and the doctor all use this, so they refuse the same programs. Three programs count as the
/// router: the one in the bus's service file, the `openurld` next to the calling program, and the one given by
/// ``variable``.
package struct RouterIdentity: Sendable {
    /// The environment variable with the path of a router other than the installed one. If its value is `any`, every
    /// program counts as the router.
    package static let variable = "OPENURL_ROUTER"

    private static let fileName = "openurld"

    /// The programs that count as the router, no matter what the service file says.
    private let programs: [String]
    /// The data directories in which the bus looks for service files.
    private let directories: [String]

    /// Maximum size of the service file, which is small.
    private static let sizeLimit = 4096

    /// Finds the programs in the files that the bus uses. Nil if every program counts as the router, or in a sandbox,
    /// which does not see the same processes as the bus.
    package init?(environment: (String) -> String?) {
        let named = environment(Self.variable)
        guard unsafe access("/.flatpak-info", F_OK) != 0, environment("SNAP") == nil, named != "any" else { return nil }
        let beside = ProcessProgram.path(ofNeighbour: Self.fileName)
        programs = [named, beside].compactMap { $0.flatMap(Self.resolved) }
        let home = environment("XDG_DATA_HOME") ?? environment("HOME").map { "\($0)/.local/share" }
        let rest = environment("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share"
        directories = [home].compactMap { $0 } + rest.split(separator: ":").map(String.init)
    }

    /// If a program other than the router owns the name, returns a message for the user that says so: that program must
    /// not get any calls. Otherwise, or if the owner's process is not in this namespace, returns nil.
    package func refusal(of pid: UInt32) -> String? {
        guard let owner = ProcessProgram.shownPath(pid: pid) else {
            // A process that has exited or is not in this namespace cannot be compared, and a confined program cannot
            // compare any process. But a router never hides its program.
            guard ProcessProgram.isHidden(pid: pid) else { return nil }
            return "\(RouterService.name) belongs to process \(pid), which hides its program; "
                + "end that process, or set \(Self.variable) to 'any' if it is a router that you started"
        }
        // An update replaces the router's program while the router keeps running.
        let program = ProcessProgram.withoutMark(owner)
        let service = serviceWords()
        guard let expected = service?.first(where: Self.isRouter) ?? service?.first ?? programs.last,
            !programs.contains(program), service?.contains(program) != true
        else { return nil }
        // The service file may start the router through another program, such as a shell that looks for it.
        if let service, !service.contains(where: Self.isRouter), Self.isRouter(program) { return nil }
        return "\(RouterService.name) belongs to \(owner) (process \(pid)), not to \(expected); "
            + "end that program, or set \(Self.variable) to its path if it is a router that you started"
    }

    private static func isRouter(_ path: String) -> Bool { path.hasSuffix("/\(fileName)") }

    /// Returns the words of the command in the service file that the bus uses, with links in paths resolved; nil if
    /// there is no file.
    private func serviceWords() -> [String]? {
        let file = "dbus-1/services/\(RouterService.name).service"
        return directories.lazy.compactMap { Self.words(ofService: "\($0)/\(file)") }.first
    }

    private static func words(ofService path: String) -> [String]? {
        guard let bytes = ProcessFiles.contents(of: path, limit: sizeLimit) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard let command = lines.first(where: { $0.hasPrefix("Exec=") })?.dropFirst("Exec=".count) else { return nil }
        // A word in quotes may contain spaces, and may be a command for a shell.
        let parts = command.split(separator: "\"", omittingEmptySubsequences: false)
        let words = parts.enumerated().flatMap { index, part in
            let pieces = part.split(whereSeparator: { " \t';&".contains($0) })
            return index % 2 == 1 ? [part] + pieces.filter { $0 != part } : pieces
        }
        return words.isEmpty ? nil : words.map { resolved(String($0)) ?? String($0) }
    }

    private static func resolved(_ path: String) -> String? {
        guard path.hasPrefix("/"), let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }
}
