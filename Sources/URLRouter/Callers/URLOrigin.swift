internal import CLinux
internal import Glibc
internal import Processes

/// The process that a URL comes from, found through the programs that only pass URLs on.
///
/// The kernel vouches for the program and the parent of each process. The search ends at a process whose parent has ended,
/// because the kernel then names another parent. It also ends at a confined process, which may see another program at a path.
///
/// A program that pretends to pass URLs on gains nothing by that: its parent takes its place, and the parent's confinement counts.
/// The same program could run the real `xdg-open`.
struct URLOrigin {
    /// The process that the URL comes from, as far as it is known.
    private(set) var pid: UInt32
    /// The path of its program; nil if the process is gone or belongs to another user.
    private(set) var executable: String?
    /// The programs that passed the URL on, beginning with the one that called the router.
    private(set) var via: [String] = []
    /// Whether ``executable`` passes URLs on for an unknown program.
    private(set) var isIntermediary = false

    /// The confinement of the caller, or of the process that the URL comes from; nil if neither is confined.
    private(set) var confinement: ProcessConfinement?

    /// The greatest number of programs to look through; `xdg-open` and `gio` start each other in a chain of four at most.
    private static let limit = 8

    /// Finds the origin of a URL that a process has sent.
    init(ofCaller caller: UInt32) {
        pid = caller
        executable = Self.program(pid: caller)
        confinement = ProcessConfinement(pid: caller)
        while let forwarder {
            guard via.count < Self.limit, !isLaunchedByGLib, let parent = ProcessIdentity.parent(of: pid),
                let program = Self.program(pid: parent), !Self.adoptsOrphans(parent, program),
                // A process that has left its parent's session may have left the parent too.
                getsid(pid_t(pid)) == getsid(pid_t(parent)),
                // Another process may have got the number of a parent that has ended.
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
            confinement != nil || Self.isProxy(executable)
            || executable.map(Self.portals.contains(system:)) ?? false
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
    /// GLib starts a command through a process that ends at once, so the parent is whatever process adopts orphans. GLib tells
    /// the command its own number in the environment.
    private var isLaunchedByGLib: Bool {
        let mark = Array("GIO_LAUNCHED_DESKTOP_FILE_PID=\(pid)".utf8)
        let variables = ProcessFiles.bytes("environ", pid: pid, limit: 1 << 18)?.split(separator: 0) ?? []
        return variables.contains { $0.elementsEqual(mark) }
    }

    /// Returns the path of a process's program. The second program of the command has the path of `openurl` in its directory.
    private static func program(pid: UInt32) -> String? {
        guard let path = ProcessProgram.path(pid: pid) else { return nil }
        let file = ProcessProgram.withoutMark(path)
        guard file.hasSuffix("/openurl-command") else { return path }
        // The mark of a replaced file stays.
        let mark = Substring(path.utf8.dropFirst(file.utf8.count))
        return "\(file.dropLast("-command".count))\(mark)"
    }

    /// The `openurl` command that is installed beside the router.
    private static let command = ProcessProgram.path(ofNeighbour: "openurl")

    private static let openers: Set = [
        "xdg-open", "gio", "gio-launch-desktop", "gtk-launch", "kde-open", "kde-open5", "kioclient", "kioclient5",
        "exo-open",
    ]
    /// The openers that are scripts. A copy may have any name.
    private static let scripts = ["/usr/bin/xdg-open", "/usr/local/bin/xdg-open"]
    private static let shells: Set = ["sh", "dash", "bash", "busybox"]
    private static let proxies: Set = ["xdg-dbus-proxy", "bwrap"]
    private static let portals: Set = ["xdg-desktop-portal"]

    /// Whether a program connects sandboxes with the bus, or makes them and has no calls of its own: a sandbox makes the calls, with a
    /// connection that was open before.
    ///
    /// The name alone counts, wherever the program is: a package's update replaces the file, and a proxy of the user's own serves
    /// sandboxes, too.
    static func isProxy(_ executable: String?) -> Bool {
        // The kernel marks a program whose file was replaced.
        let name = executable?.split(separator: "/").last?.split(separator: " ").first
        return name.map { proxies.contains(String($0)) } ?? false
    }

    /// Whether a process is the parent of processes whose own parent has ended: init, or the user's service manager.
    private static func adoptsOrphans(_ pid: UInt32, _ program: String) -> Bool {
        pid == 1 || program.hasSuffix("/systemd")
    }
}

extension Set<String> {
    /// Whether the set has the name of a program that belongs to the system.
    fileprivate func contains(system path: String) -> Bool {
        (path.hasPrefix("/usr/") || path.hasPrefix("/bin/"))
            && contains(path.split(separator: "/").last.map(String.init) ?? "")
    }
}
