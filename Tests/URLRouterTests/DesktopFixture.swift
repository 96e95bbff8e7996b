import Desktop
import FoundationEssentials
import Glibc
import SchemeRegistry
import TestSupport
import Testing

/// A temporary desktop: a directory with entries and programs that exists as long as this object.
final class DesktopFixture {
    /// The directory, with all links resolved.
    var path: String { directory.path }
    private let directory: TemporaryDirectory
    /// The descriptors of the pipes, by name.
    private var pipes: [String: CInt] = [:]

    init() throws {
        directory = try TemporaryDirectory()
        for name in ["bin", "data", "data/applications", "home"] { try #require(mkdir("\(path)/\(name)", 0o700) == 0) }
        try addLink("sh", to: "/bin/sh")
    }

    deinit {
        for descriptor in pipes.values { close(descriptor) }
    }

    /// The applications that are installed now.
    var applications: DesktopApplications {
        DesktopApplications(
            loading: DesktopDirectories(environment: [
                "HOME": "\(path)/home", "PATH": "\(path)/bin", "XDG_DATA_HOME": "\(path)/data",
                "XDG_DATA_DIRS": "\(path)/none", "XDG_CONFIG_DIRS": "\(path)/none",
            ])
        )
    }

    /// The environment of commands.
    var environment: [String: String] { ["HOME": "\(path)/home", "PATH": "\(path)/bin:/usr/bin:/bin"] }

    /// Writes the entry of an application. The application's scheme is the last element of its name in lower case.
    func addEntry(_ name: String, _ lines: String...) throws {
        let scheme = try #require(name.split(separator: ".").last).lowercased()
        let entry = ["[Desktop Entry]", "Type=Application", "Name=\(name)", "MimeType=x-scheme-handler/\(scheme);"]
        try write((entry + lines).joined(separator: "\n") + "\n", to: "data/applications/\(name).desktop")
    }

    /// Adds a link to an existing program to the directory of programs.
    ///
    /// A new file would be unsafe. If another thread starts a process while the file is open for writing, the child
    /// process also has the file open for a moment, and the file cannot be started (`ETXTBSY`).
    func addLink(_ name: String, to program: String) throws {
        try #require(symlink(program, "\(path)/bin/\(name)") == 0)
    }

    /// Writes a shell script. `$desktop` in the script is the desktop's directory.
    func addScript(_ name: String, _ body: String) throws {
        try write("desktop='\(path)'\n\(body)\n", to: name)
    }

    /// Writes a script and the entry of an application. The application's command is the shell with the script and a
    /// URL.
    func addCommand(_ name: String, _ body: String, _ lines: String...) throws {
        try addScript("\(name).sh", body)
        try addEntry(name, (["Exec=sh \(path)/\(name).sh %u"] + lines).joined(separator: "\n"))
    }

    /// Creates a pipe and keeps both ends open as long as this object exists, so that opening the pipe never blocks.
    func addPipe(_ name: String) throws {
        try #require(mkfifo("\(path)/\(name)", 0o600) == 0)
        let descriptor = open("\(path)/\(name)", O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0)
        pipes[name] = descriptor
    }

    /// Wakes a program that reads from a pipe now or later.
    func write(to pipe: String) throws {
        let descriptor = try #require(pipes[pipe])
        try #require(Glibc.write(descriptor, "\n", 1) == 1)
    }

    /// Returns when a program has written to a pipe.
    func wait(for pipe: String) throws {
        let descriptor = try #require(pipes[pipe])
        var polled = pollfd(fd: descriptor, events: CShort(POLLIN), revents: 0)
        try #require(poll(&polled, 1, 60_000) == 1)
    }

    /// Returns the lines of a file.
    func lines(of name: String) throws -> [String] {
        let text = try String(contentsOf: URL(filePath: "\(path)/\(name)"), encoding: .utf8)
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }

    /// Writes a file.
    func write(_ text: String, to name: String) throws {
        try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8)
    }
}
