internal import Glibc

/// The program that owns the router's name, compared with the program that should own it.
package struct RouterIdentity: Sendable {
    /// The router beside the command.
    private let beside: String?
    /// The directories of data, in which the bus looks for service files.
    private let directories: [String]

    /// The service file is small.
    private static let sizeLimit = 4096

    /// Takes the programs from the files that the bus uses; nil in a sandbox, which sees other processes than the bus.
    ///
    /// - Parameter isCommand: whether this process is the `openurl` command, which is installed beside the router.
    package init?(isCommand: Bool, environment: (String) -> String?) {
        guard unsafe access("/.flatpak-info", F_OK) != 0, environment("SNAP") == nil else { return nil }
        let own = isCommand ? Self.link("/proc/self/exe") : nil
        beside = own.flatMap { own in own.lastIndex(of: "/").map { String(own[...$0]) + "openurld" } }
        let home = environment("XDG_DATA_HOME") ?? environment("HOME").map { "\($0)/.local/share" }
        let rest = environment("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share"
        directories = [home].compactMap { $0 } + rest.split(separator: ":").map(String.init)
    }

    /// The sentence for a person about another program that owns the name; nil if there is none, or if it cannot be known.
    package func warning(about pid: UInt32) -> String? {
        guard let owner = Self.link("/proc/\(pid)/exe") else { return nil }
        // The file of a router that runs on after an update has the kernel's mark.
        let mark = " (deleted)"
        let program = owner.hasSuffix(mark) ? String(owner.dropLast(mark.count)) : owner
        if program == beside { return nil }
        let service = serviceProgram()
        guard program != service, let expected = service ?? beside else { return nil }
        return "\(RouterService.name) belongs to \(owner) (process \(pid)), not to \(expected); "
            + "end that program if it is not a router that you started"
    }

    /// The program of the service file that counts for the bus; nil without a file.
    private func serviceProgram() -> String? {
        let file = "dbus-1/services/\(RouterService.name).service"
        return directories.lazy.compactMap { Self.program(ofService: "\($0)/\(file)") }.first
    }

    /// The program that a service file starts, with links resolved; nil without a file.
    private static func program(ofService path: String) -> String? {
        let file = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: sizeLimit)
        let count = unsafe read(file, &bytes, bytes.count)
        let lines = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).split(separator: "\n")
        guard let command = lines.first(where: { $0.hasPrefix("Exec=") })?.dropFirst("Exec=".count) else { return nil }
        let isQuoted = command.hasPrefix("\"")
        guard let word = command.split(separator: isQuoted ? "\"" : " ").first else { return nil }
        return resolved(String(word)) ?? String(word)
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    private static func link(_ path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }
}
