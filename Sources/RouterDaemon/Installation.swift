internal import Doctor
internal import Glibc
internal import Processes
internal import SchemeRegistry

/// The files that are installed together with the daemon, such as `/usr/bin/openurl` next to `/usr/bin/openurld`.
struct Installation: Sendable {
    /// The absolute path of the daemon's program, without symbolic links.
    let program: String

    init(program: String) {
        self.program = program
    }

    /// Finds the installation of this process's program; nil if the kernel does not report its path.
    init?() {
        guard let program = ProcessProgram.file(pid: UInt32(getpid())) else { return nil }
        self.init(program: program)
    }

    /// The directory with the manifests of handlers that are installed for all users.
    var handlers: String { "\(directory(above: 2))/share/\(RegistryDirectories.subdirectory)" }

    /// The files that the doctor needs.
    var files: InstalledFiles {
        InstalledFiles(
            command: "\(directory(above: 1))/openurl",
            router: program,
            share: "\(directory(above: 2))/share",
            handlers: handlers,
            chooser: chooser
        )
    }

    /// The `openurl` command next to the daemon; nil if there is none.
    var command: String? {
        let command = "\(directory(above: 1))/openurl"
        return access(command, X_OK) == 0 ? command : nil
    }

    /// The path of the program that lets the person choose how to open a link. It may be missing.
    var chooser: String { "\(directory(above: 1))/openurl-chooser" }

    /// Returns the directory that is `levels` above the program.
    private func directory(above levels: Int) -> String {
        program.split(separator: "/").dropLast(levels).map { "/\($0)" }.joined()
    }
}
