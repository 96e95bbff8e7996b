import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import RFC1808
import Reactor
import Relay
import TestSupport
import Testing

/// `openurl ssh` with a real sshd, and `openurl share` with real namespaces.
@Suite(.timeLimit(.minutes(10))) struct RelayCommandTests {
    private static let browserLog = "browser.log"

    /// A router, with a browser that follows every sign-in.
    private func makeRouter() async throws -> RouterProcess {
        let program = try pythonProgram("follow_redirect")
        return try await RouterProcess { directory in
            let script = directory.appending(path: "follow_redirect.py")
            try Data(program.utf8).write(to: script)
            let log = directory.appending(path: Self.browserLog)
            try Self.addBrowser("/usr/bin/python3 \(script.path) \(log.path)", in: directory)
        }
    }

    /// Makes a program the browser.
    private static func addBrowser(_ command: String, in directory: URL) throws {
        let applications = directory.appending(path: "XDG_DATA_HOME/applications")
        try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
        try Data(
            """
            [Desktop Entry]
            Type=Application
            Name=Browser
            Exec=\(command) %u
            MimeType=x-scheme-handler/http;x-scheme-handler/https;

            """.utf8
        ).write(to: applications.appending(path: "browser.desktop"))
    }

    /// The addresses that the browser has got.
    private func addresses(_ router: RouterProcess) throws -> [String] {
        let log = router.bus.directory.appending(path: Self.browserLog)
        guard FileManager.default.fileExists(atPath: log.path) else { return [] }
        return try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    private func allow(_ router: RouterProcess, _ source: String, _ schemes: String...) async throws {
        for scheme in schemes {
            let run = try await router.openurl("policy", "allow", "--source", source, scheme)
            try #require(run.status == 0, "\(run)")
        }
    }

    /// The router answers when it knows how the browser's command ends.
    @Test func relayLearnsThatTheBrowserHasBeenStarted() async throws {
        let router = try await RouterProcess { directory in
            let (script, pipe) = (directory.appending(path: "browser.sh"), directory.appending(path: "pipe"))
            guard mkfifo(pipe.path, 0o600) == 0 else { throw POSIXError(.EIO) }
            // Without the report, the test must end too.
            try Data("exec timeout 30 head -n 1 \(pipe.path)\n".utf8).write(to: script)
            try Self.addBrowser("sh \(script.path)", in: directory)
        }
        defer { router.stop() }
        try await allow(router, "host:box", "https")
        let loop = try EventLoop()
        defer { loop.stop() }
        let relayed = BusRouter(for: "host:box", on: .address(router.bus.address), loop)
        let (starts, start) = AsyncStream<Void>.makeStream()
        let opening = Task {
            defer { start.finish() }
            try await relayed.open(GenericURL("https://a.example/")) { start.yield() }
        }
        #expect(await starts.first { true } != nil)
        let pipe = open(router.bus.directory.appending(path: "pipe").path, O_RDWR | O_CLOEXEC)
        defer { close(pipe) }
        try #require(write(pipe, "\n", 1) == 1)
        try await opening.value
    }

    // MARK: ssh

    private func server(_ router: RouterProcess) throws -> SSHServer {
        let far = router.bus.directory.appending(path: "far")
        try FileManager.default.createDirectory(at: far, withIntermediateDirectories: true)
        return try SSHServer(in: router.bus.directory, ["TMPDIR": far.path])
    }

    /// The files that the far end has now.
    private func farFiles(_ router: RouterProcess) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: router.bus.directory.appending(path: "far").path)
    }

    /// The directories of sessions in the runtime directory.
    private func sessions(_ router: RouterProcess) throws -> [String] {
        let runtime = try #require(router.bus.environment["XDG_RUNTIME_DIR"])
        return try FileManager.default.contentsOfDirectory(atPath: "\(runtime)/openurl").filter { $0.hasPrefix("ssh-") }
    }

    private func ssh(_ router: RouterProcess, _ server: SSHServer, _ command: String...) async throws -> CommandRun {
        var environment = server.client(router.bus.environment)
        environment["DBUS_SESSION_BUS_ADDRESS"] = router.bus.address
        return try await CommandRun(
            URL(filePath: "/usr/bin/env"),
            ["timeout", "--signal=KILL", "120", RouterProcess.command.path, "ssh", "box"] + command,
            environment,
            in: router.bus.directory
        )
    }

    @Test func browserOfAnotherMachineIsHere() async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let server = try server(router)
        // Nobody can be asked here.
        let refused = try await ssh(router, server, "$BROWSER https://example.com/refused")
        #expect(refused.status == 7 && refused.errors.contains("--source host:box https://example.com"), "\(refused)")
        try await allow(router, "host:box", "https")
        let opened = try await ssh(
            router,
            server,
            "$BROWSER https://example.com/1 && xdg-open https://example.com/2 && openurl https://example.com/3; exit 5"
        )
        #expect(opened.status == 5, "\(opened)")
        #expect(try addresses(router) == ["https://example.com/1", "https://example.com/2", "https://example.com/3"])
        #expect(try await router.openurl("log").output.contains("host:box"))
        let asked = try await ssh(router, server, "openurl", "can-open", "https://example.com/", "mailto:x")
        #expect(asked.status == 3 && asked.output == "yes\nno\n", "\(asked)")
        for url in ["mailto:x@example.com", "file:///etc/passwd", "javascript:alert(1)"] {
            let other = try await ssh(router, server, "openurl", "'\(url)'")
            #expect(other.status == 7, "\(url): \(other)")
        }
        #expect(try addresses(router).count == 3)
        // If one URL fails, the others are still opened.
        let some = try await ssh(router, server, "openurl mailto:x@example.com https://example.com/4")
        #expect(some.status == 7, "\(some)")
        #expect(try addresses(router).last == "https://example.com/4")
        #expect(try farFiles(router) == [] && sessions(router) == [])
    }

    @Test func callbacksComeBack() async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let server = try server(router)
        try await allow(router, "host:box", "https")
        let scheme = "https://sign-in.example/?redirect_uri=farapp%3A%2F%2Fauth&state=s1"
        let atScheme = try await ssh(router, server, "openurl callback '\(scheme)'")
        #expect(atScheme.status == 0 && atScheme.output == "farapp://auth?code=1&state=s1\n", "\(atScheme)")
        let port = "https://sign-in.example/?redirect_uri=http%3A%2F%2F127.0.0.1%2Fdone&state=s2"
        let atPort = try await ssh(router, server, "openurl callback '\(port)'")
        let callback = atPort.output
        #expect(callback.hasPrefix("http://127.0.0.1:") && callback.hasSuffix("/done?code=1&state=s2\n"), "\(atPort)")
        // Without a state, any URL of the scheme could be the callback.
        let stateless = "https://sign-in.example/?redirect_uri=farapp%3A%2F%2Fauth"
        let refused = try await ssh(router, server, "openurl callback '\(stateless)'")
        #expect(refused.status == 7 && refused.errors.contains("state="), "\(refused)")
    }

    @Test(arguments: ["", "'<&-'"]) func signInAtAFixedPortReachesTheProgramThere(_ redirection: String) async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let server = try server(router)
        try await allow(router, "host:box", "https")
        let program = server.file("sign_in_at_port.py")
        try Data(try pythonProgram("sign_in_at_port").utf8).write(to: program)
        // In a network of its own, as on another machine, the port is free on both sides.
        let namespaces = getuid() == 0 ? "--net" : "--user --map-root-user --net"
        // The cases may run side by side.
        let port = 20_000 + Int(getpid()) % 5_000 * 2 + (redirection.isEmpty ? 0 : 1)
        let run = try await ssh(router, server, "unshare \(namespaces) python3 \(program.path) \(port) \(redirection)")
        #expect(run.status == 0 && run.output == "localhost:\(port) /done?code=1&state=s1\n", "\(run)")
    }

    /// Whatever the phase, nothing stays behind on either side.
    @Test func cutConnectionsLeaveNothing() async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let server = try server(router)
        try await allow(router, "host:box", "https")
        // Before the far end has done anything.
        try server.closeGate()
        async let early = ssh(router, server, "true")
        try await eventually(server.session()) { $0 != nil }
        try server.cut()
        #expect(try await early.status == 255)
        try FileManager.default.removeItem(at: server.file("gate"))
        #expect(try farFiles(router) == [] && sessions(router) == [])
        // During the session, and while a program waits for a callback. The address leads to no redirect.
        let waiting = "openurl callback 'https://sign-in.example/?redirect_uri=farapp%3A%2F%2Fauth&state='"
        for command in [
            "touch \(server.file("begun").path); sleep 60", "touch \(server.file("begun").path); \(waiting)x; sleep 60",
        ] {
            try? FileManager.default.removeItem(at: server.file("begun"))
            async let run = ssh(router, server, command)
            try await eventually(FileManager.default.fileExists(atPath: server.file("begun").path)) { $0 }
            try server.cut()
            #expect(try await run.status == 255)
            try await eventually(farFiles(router)) { $0.isEmpty }
            #expect(try sessions(router) == [])
        }
        try await eventually(FileManager.default.fileExists(atPath: router.desktopEntry("org.openurl.callback").path)) {
            !$0
        }
        #expect(try await ssh(router, server, "$BROWSER https://example.com/after").status == 0)
    }

    @Test func relayOutlivesTheRouter() async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let server = try server(router)
        try await allow(router, "host:box", "https")
        let fifo = server.file("fifo").path
        try #require(mkfifo(fifo, 0o600) == 0)
        async let run = ssh(
            router,
            server,
            "$BROWSER https://example.com/1; read -r x <\(fifo); $BROWSER https://example.com/2"
        )
        try await eventually(addresses(router)) { $0.count == 1 }
        #expect(await router.terminate() == 0)
        try await router.startNext()
        let gate = FileHandle(fileDescriptor: Glibc.open(fifo, O_RDWR | O_CLOEXEC), closeOnDealloc: true)
        try gate.write(contentsOf: Data("\n".utf8))
        #expect(try await run.status == 0)
        #expect(try addresses(router) == ["https://example.com/1", "https://example.com/2"])
    }

    // MARK: Containers

    private static let client = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/openurl-remote/main.c").standardizedFileURL.path

    /// Builds the containers' program as it is installed. The one beside the tests needs libraries that a container lacks.
    private func buildClient(_ router: RouterProcess) async throws -> String {
        let path = router.bus.directory.appending(path: "client").path
        let build = try await router.run("gcc", "-std=gnu11", "-static", "-o", path, Self.client)
        try #require(build.status == 0, "\(build)")
        return path
    }

    @Test func socketWithoutADirectoryEndsTheSession() async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let client = try await buildClient(router)
        let run = try await router.run(
            "bash",
            "-c",
            "OPENURL_SOCKET=socket exec -a openurl \(client) --session -c true"
        )
        #expect(run.status == 69 && run.errors.hasPrefix("openurl: there is no socket of openurl here; "), "\(run)")
    }

    /// Starts a share, and puts the containers' program into its directory.
    ///
    /// - Returns: the directory.
    private func share(_ router: RouterProcess, for engine: String) async throws -> (directory: String, run: CommandRun)
    {
        let runtime = try #require(router.bus.environment["XDG_RUNTIME_DIR"])
        let directory = "\(runtime)/openurl/shares/devbox"
        let run = try await router.openurl("share", "--for", engine, "devbox")
        try #require(run.status == 0, "\(run)")
        let client = "\(directory)/openurl-remote"
        try FileManager.default.removeItem(atPath: client)
        try FileManager.default.copyItem(atPath: try await buildClient(router), toPath: client)
        return (directory, run)
    }

    private func sandbox(_ directory: String, _ command: String) -> [String] {
        var words = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/usr", "/usr"]
        for name in ["bin", "lib", "lib64"] { words += ["--symlink", "usr/\(name)", "/\(name)"] }
        words += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", directory, "/run/openurl"]
        return words + ["--clearenv", "--setenv", "PATH", "/run/openurl:/usr/bin", "sh", "-c", command]
    }

    @Test func containersOpenAddressesHere() async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let (directory, started) = try await share(router, for: "bubblewrap")
        let line = "bwrap --ro-bind \(directory) /run/openurl --setenv BROWSER /run/openurl/xdg-open ...\n"
        #expect(started.output == line, "\(started)")
        #expect(try await router.openurl("share").output == "devbox\n")
        let again = try await router.openurl("share", "--for", "nspawn", "devbox")
        #expect(again.status == 0 && again.output.hasPrefix("systemd-nspawn --bind-ro=\(directory):"), "\(again)")
        let second = try await router.openurl("share", "--foreground", "devbox")
        #expect(second.status == 12 && second.errors.contains("exists already"), "\(second)")
        let refused = try await router.run(sandbox(directory, "xdg-open https://example.com/refused"))
        #expect(refused.status == 7 && refused.errors.contains("container:devbox"), "\(refused)")
        try await allow(router, "container:devbox", "https")
        let signIn = "https://sign-in.example/?redirect_uri=http%3A%2F%2F127.0.0.1%2Fdone&state=s2"
        let opened = try await router.run(
            sandbox(
                directory,
                "xdg-open https://example.com/1 && openurl callback '\(signIn)'; openurl file:///etc/passwd"
            )
        )
        #expect(opened.output.hasSuffix("/done?code=1&state=s2\n") && opened.status == 7, "\(opened)")
        #expect(try addresses(router).first == "https://example.com/1" && addresses(router).count == 2)
        #expect(try await router.openurl("share", "--stop", "devbox").status == 0)
        #expect(try await router.openurl("share").output == "")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
        #expect(try await router.openurl("share", "--stop", "devbox").status == 1)
    }

    /// Otherwise, a medium could not be removed until the logout after the command was run there.
    @Test func shareHasNoDirectoryInUse() async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let runtime = try #require(router.bus.environment["XDG_RUNTIME_DIR"])
        try #require(try await router.openurl("share", "devbox").status == 0)
        let process = try #require(ShareDirectory.listener(at: "\(runtime)/openurl/shares/devbox"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd") == "/")
        #expect(try await router.openurl("share", "--stop", "devbox").status == 0)
    }

    @Test func shareThatIsTooSlowDoesNotStartLater() async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let runtime = try #require(router.bus.environment["XDG_RUNTIME_DIR"])
        // The program reads what a client sends, and never answers.
        let bus = "DBUS_SESSION_BUS_ADDRESS=unixexec:path=/bin/sh,argv1=-c,argv2=cat%20%3E/dev/null"
        let run = try await router.run(bus, RouterProcess.command.path, "share", "devbox")
        #expect(run.status == 4 && run.errors.contains("it did not start in time"), "\(run)")
        #expect(ShareDirectory.listener(at: "\(runtime)/openurl/shares/devbox") == nil)
    }

    @Test func shareBelongsToOneContainer() async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let directory = try await share(router, for: "podman").directory
        try await allow(router, "container:devbox", "https")
        let fifo = router.bus.directory.appending(path: "fifo").path
        try #require(mkfifo(fifo, 0o600) == 0)
        var first = sandbox(directory, "xdg-open https://example.com/first; read -r x </fifo")
        first.insert(contentsOf: ["--bind", fifo, "/fifo"], at: 1)
        async let run = router.run(first)
        try await eventually(addresses(router)) { $0.count == 1 }
        let other = try await router.run(sandbox(directory, "xdg-open https://example.com/other"))
        #expect(other.status == 69, "\(other)")
        let gate = FileHandle(fileDescriptor: Glibc.open(fifo, O_RDWR | O_CLOEXEC), closeOnDealloc: true)
        try gate.write(contentsOf: Data("\n".utf8))
        _ = try await run
        // The first container has ended.
        let next = try await eventually(try await router.run(sandbox(directory, "xdg-open https://example.com/next"))) {
            $0.status == 0
        }
        #expect(next.status == 0)
        // On a busy machine, the router has answered before the browser's command has written anything.
        let opened = try await eventually(addresses(router)) { $0.count == 2 }
        #expect(opened == ["https://example.com/first", "https://example.com/next"])
        #expect(try await router.openurl("share", "--stop", "devbox").status == 0)
    }

    /// The variables by which the programs of toolbox and distrobox tell that they are in a container.
    @Test(arguments: ["CONTAINER_ID=devbox", ""]) func containerFindsItsShare(_ variable: String) async throws {
        let router = try await makeRouter()
        defer { router.stop() }
        let runtime = try #require(router.bus.environment["XDG_RUNTIME_DIR"])
        _ = try await share(router, for: "distrobox")
        try await allow(router, "container:devbox", "https")
        let client = "\(runtime)/openurl/shares/devbox/openurl-remote"
        let environment = router.bus.directory.appending(path: "containerenv").path
        // podman, and so toolbox, writes this file.
        try Data("engine=\"podman-4.9\"\nname=\"devbox\"\nid=\"4711\"\n".utf8).write(to: URL(filePath: environment))
        var words = ["bwrap", "--unshare-user", "--ro-bind", "/usr", "/usr", "--bind", runtime, runtime]
        for name in ["bin", "lib", "lib64"] { words += ["--symlink", "usr/\(name)", "/\(name)"] }
        words += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", client, "/opt/xdg-open", "--clearenv"]
        words += ["--setenv", "XDG_RUNTIME_DIR", runtime]
        if variable.isEmpty {
            words += ["--ro-bind", environment, "/run/.containerenv"]
        } else {
            words += ["--setenv", "CONTAINER_ID", "devbox"]
        }
        let run = try await router.run(words + ["/opt/xdg-open", "https://example.com/found"])
        #expect(run.status == 0, "\(run)")
        #expect(try addresses(router) == ["https://example.com/found"])
        #expect(try await router.openurl("share", "--stop", "devbox").status == 0)
    }
}
