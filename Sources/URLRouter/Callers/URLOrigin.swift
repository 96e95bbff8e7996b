internal import CLinux
internal import Glibc
internal import Processes

/// The process that a URL comes from, found through the programs that only pass URLs on.
///
/// The kernel vouches for each process's program and parent. If a parent has exited, the kernel reports another one
/// instead, so the search ends there. It also ends at a confined process, which may see a different program at the same
/// path.
///
/// A program gains nothing by pretending to pass URLs on: its parent takes its place, and the parent's confinement
/// counts. It could just as well run the real `xdg-open`.
struct URLOrigin {
    /// The process that the URL comes from, as far as the router can tell.
    private(set) var pid: UInt32
    /// The path of its program; nil if the process is gone or belongs to another user.
    private(set) var executable: String?
    /// The programs that passed the URL on, beginning with the one that called the router.
    private(set) var via: [String] = []
    /// Whether ``executable`` passes URLs on for an unknown program.
    private(set) var isIntermediary = false

    /// The confinement of the caller or of the process that the URL comes from; nil if neither is confined.
    private(set) var confinement: ProcessConfinement?

    /// Maximum number of programs to search through. `xdg-open` and `gio` start each other in a chain of at most four.
    private static let limit = 8

    /// Finds the origin of a URL that a process has sent.
    init(ofCaller caller: UInt32) {
        pid = caller
        executable = Self.program(pid: caller)
        confinement = ProcessConfinement(pid: caller)
        while let forwarder {
            guard via.count < Self.limit, !isLaunchedByGLib, let parent = ProcessIdentity.parent(of: pid),
                let program = Self.program(pid: parent), !Self.adoptsOrphans(parent, program),
                // If a process has left its parent's session, it may have left the parent too.
                getsid(pid_t(pid)) == getsid(pid_t(parent)),
                // If a parent has exited, another process may have taken over its process ID.
                ProcessIdentity.parent(of: pid) == parent
            else {
                isIntermediary = true
                return
            }
            via.append(forwarder)
            pid = parent
            executable = program
            confinement = ProcessConfinement(pid: parent)
        }
        isIntermediary =
            confinement != nil || Self.isProxy(executable) || Self.isPortal(executable) || Self.isSnapd(executable)
    }

    /// The program or script that this process runs, if it only passes URLs on.
    private var forwarder: String? {
        guard let executable, confinement == nil else { return nil }
        if executable == Self.command || Self.openers.contains(system: executable) { return executable }
        guard Self.shells.contains(system: executable) else { return nil }
        return ShellScript.files(openIn: pid).first { script in
            Self.openers.contains(system: script.path) || Self.scripts.contains(where: script.isCopy)
        }?
        .path
    }

    /// Whether GLib has launched this process for a desktop entry.
    ///
    /// GLib starts a command through a process that exits immediately, so the parent is the process that adopts
    /// orphans. But GLib leaves the command's own process ID in its environment.
    private var isLaunchedByGLib: Bool {
        let mark = Array("GIO_LAUNCHED_DESKTOP_FILE_PID=\(pid)".utf8)
        let variables = ProcessFiles.bytes("environ", pid: pid, limit: 1 << 18)?.split(separator: 0) ?? []
        return variables.contains { $0.elementsEqual(mark) }
    }

    /// Returns the path of a process's program. For the command's second program, this is the path of `openurl` in the
    /// same directory.
    private static func program(pid: UInt32) -> String? {
        guard let path = ProcessProgram.path(pid: pid) else { return nil }
        let file = ProcessProgram.withoutMark(path)
        guard file.hasSuffix("/openurl-command") else { return path }
        // Keep the mark that the kernel adds for a replaced file.
        let mark = Substring(path.utf8.dropFirst(file.utf8.count))
        return "\(file.dropLast("-command".count))\(mark)"
    }

    /// The `openurl` command that is installed beside the router.
    private static let command = ProcessProgram.path(ofNeighbour: "openurl")

    private static let openers: Set = [
        "xdg-open", "gio", "gio-launch-desktop", "gtk-launch", "kde-open", "kde-open5", "kioclient", "kioclient5",
        "exo-open",
    ]
    /// Openers that are scripts. Copies of them may have any name.
    private static let scripts = ["/usr/bin/xdg-open", "/usr/local/bin/xdg-open"]
    private static let shells: Set = ["sh", "dash", "bash", "busybox"]
    private static let proxies: Set = ["xdg-dbus-proxy", "bwrap"]
    private static let portals: Set = ["xdg-desktop-portal"]

    /// Returns whether a program connects sandboxes to the bus, or creates them without making calls itself: if a
    /// sandbox calls, it uses a connection that was already open.
    ///
    /// Only the name counts, no matter where the program is: an update of the package replaces the file, and a user's
    /// own proxy serves sandboxes, too.
    static func isProxy(_ executable: String?) -> Bool {
        // If a program's file was replaced, the kernel marks its name.
        let name = executable?.split(separator: "/").last?.split(separator: " ").first
        return name.map { proxies.contains(String($0)) } ?? false
    }

    /// Returns whether a program is the system's xdg-desktop-portal.
    static func isPortal(_ executable: String?) -> Bool { executable.map(portals.contains(system:)) ?? false }

    /// Returns whether a program is snapd's `snap`, which opens the URLs of snaps with `xdg-open` (`snap userd`).
    ///
    /// It may be in `/usr/bin`, or in one of snapd's own snaps. Nothing else is checked, because a program that
    /// pretends to be snapd gains only what any program gets by opening a URL through a portal: with the token of a
    /// call, it can answer the call.
    static func isSnapd(_ executable: String?) -> Bool {
        executable.map { ProcessProgram.withoutMark($0).hasSuffix("/usr/bin/snap") } ?? false
    }

    /// Returns whether a process adopts orphans, as init and the user's service manager do.
    private static func adoptsOrphans(_ pid: UInt32, _ program: String) -> Bool {
        pid == 1 || program.hasSuffix("/systemd")
    }
}

extension Set<String> {
    /// Returns whether the set contains the name of a program that belongs to the system. A program whose file an update
    /// has replaced is still the same program.
    fileprivate func contains(system path: String) -> Bool {
        let file = ProcessProgram.withoutMark(path)
        return (file.hasPrefix("/usr/") || file.hasPrefix("/bin/"))
            && contains(file.split(separator: "/").last.map(String.init) ?? "")
    }
}
