import DBus
import Foundation
import Glibc
import OpenURL
import OpenURLBus
import PrivateBus
import RFC1808
import TestSupport
import Testing

/// Commands for the router of another machine (`openurl --host`), through a real sshd.
@Suite(.timeLimit(.minutes(10))) struct HostTests {
    private static let app = "com.example.app"

    private func server(_ router: RouterProcess) throws -> SSHServer {
        try SSHServer(in: router.bus.directory, ["DBUS_SESSION_BUS_ADDRESS": router.bus.address])
    }

    private func openurl(_ router: RouterProcess, _ server: SSHServer, _ arguments: String...) async throws
        -> CommandRun
    {
        try await openurl(router, server, arguments)
    }

    private func openurl(_ router: RouterProcess, _ server: SSHServer, _ arguments: [String]) async throws
        -> CommandRun
    {
        try await CommandRun(
            URL(filePath: "/usr/bin/env"),
            ["timeout", "--signal=KILL", "120", RouterProcess.command.path] + arguments,
            server.client(router.bus.environment),
            in: router.bus.directory
        )
    }

    @Test func commandsReachTheRouterOfTheHost() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let server = try server(router)
        let opened = try await openurl(router, server, "--host", "box", "--json", "app:it's%20here")
        #expect(
            opened.status == 0 && opened.output.contains(#""handler":"com.example.app","way":"launched""#),
            "\(opened)"
        )
        #expect(try router.log(of: Self.app).contains("open app:it's%20here"))
        let explained = try await openurl(router, server, "--host=box", "explain", "app:x")
        #expect(explained.status == 0 && explained.output.contains(Self.app), "\(explained)")
        #expect(try await openurl(router, server, "--host", "box", "--queue", "app:later").status == 0)
        #expect(try await openurl(router, server, "--host", "box", "queue").status == 0)
        #expect(try await openurl(router, server, "--host", "box", "version").output.contains("openurld"))
        let none = try await openurl(router, server, "--host", "box", "nothing:x")
        #expect(none.status == 3 && none.errors.contains("no handler claims"), "\(none)")
    }

    @Test func sshRefusesAHostAndAKey() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let server = try server(router)
        for file in ["known", "authorized"] {
            let data = try Data(contentsOf: server.file(file))
            try Data().write(to: server.file(file))
            let run = try await openurl(router, server, "--host", "box", "app:x")
            #expect(run.status == 69 && run.errors.contains("ssh ended with status 255"), "\(run)")
            // The words of ssh come first.
            #expect(
                run.errors.contains("Host key verification failed") || run.errors.contains("Permission denied"),
                "\(run)"
            )
            try data.write(to: server.file(file))
        }
        #expect(try router.log(of: Self.app).isEmpty)
    }

    @Test func hostWithoutABridgeRunsTheCommandItself() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let server = try server(router)
        let programs = server.file("programs")
        try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
        for program in ["/bin/sh", RouterProcess.command.path] {
            let link = programs.appending(path: URL(filePath: program).lastPathComponent)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: URL(filePath: program))
        }
        try server.setVariables(["DBUS_SESSION_BUS_ADDRESS": router.bus.address, "PATH": programs.path])
        let opened = try await openurl(router, server, "--host", "box", "--json", "app:it's%20here")
        #expect(opened.status == 0 && opened.output.contains(#""handler":"com.example.app""#), "\(opened)")
        #expect(try router.log(of: Self.app).contains("open app:it's%20here"))
        #expect(try await openurl(router, server, "--host", "box", "nothing:x").status == 3)
        // The shells there may read these in different ways, so nothing is run.
        for value in [#"k=a\'; touch run; '"#, "k=a\n touch run", #"k=\"#] {
            let arguments = ["--annotation", value, "app:refused"]
            let refused = try await openurl(router, server, ["--host", "box", "open"] + arguments)
            let reason = "the host has no systemd-stdio-bridge, so arguments cannot have a backslash or a line break"
            #expect(refused.status == 69 && refused.output == "", "\(refused)")
            #expect(refused.errors.hasSuffix("'openurl' cannot be run on box: \(reason)\n"), "\(refused)")
        }
        #expect(try !router.log(of: Self.app).contains("open app:refused"))
        // Everything else arrives as it is.
        let value = #"k=a "b" $(touch run) `touch run` 'c' * ~ ! #"#
        let arguments = ["--json", "--annotation", value, "app:q"]
        let quoted = try await openurl(router, server, ["--host", "box", "open"] + arguments)
        let json = #""annotation":{"k":"a \"b\" $(touch run) `touch run` 'c' * ~ ! #"}"#
        #expect(quoted.output.contains(json), "\(quoted)")
    }

    @Test func hostWithoutABusOrARouterIsUnavailable() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let server = try server(router)
        try server.setVariables(["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"])
        let noBus = try await openurl(router, server, "--host", "box", "app:x")
        #expect(noBus.status == 69 && noBus.errors.contains("no bus answers there"), "\(noBus)")
        let bus = try await PrivateBus()
        defer { bus.stop() }
        try server.setVariables(["DBUS_SESSION_BUS_ADDRESS": bus.address])
        let noRouter = try await openurl(router, server, "--host", "box", "app:x")
        #expect(noRouter.status == 69 && noRouter.errors.contains("the router is not running"), "\(noRouter)")
    }

    /// The exit status and the message of a connection that was cut while an outcome was missing.
    private func expectUnknownOutcome(_ run: CommandRun) {
        let reason = "the connection to the session bus was lost before the router answered"
        let expected = "openurl: \(reason); whether the request arrived is unknown\n"
        // The words of ssh come first, if ssh has any.
        #expect(run.status == 69 && run.output == "" && run.errors.hasSuffix(expected), "\(run)")
    }

    @Test func connectionCutBeforeTheCallOpensNothing() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let server = try server(router)
        try server.closeGate()
        async let run = openurl(router, server, "--host", "box", "app:x")
        try await eventually(server.session()) { $0 != nil }
        try server.cut()
        let cut = try await run
        #expect(cut.status == 69 && cut.output == "", "\(cut)")
        #expect(
            cut.errors.hasSuffix(
                "openurl: the session bus of box cannot be reached: ssh ended with status 255\n"
            ),
            "\(cut)"
        )
        #expect(try router.log(of: Self.app).isEmpty)
    }

    @Test func connectionCutWhileTheHandlerStarts() async throws {
        let router = try await RouterProcess([Self.app: ["gate"]])
        defer { router.stop() }
        let server = try server(router)
        async let run = openurl(router, server, "--host", "box", "app:x")
        try await eventually(router.log(of: Self.app)) { !$0.isEmpty }
        try server.cut()
        expectUnknownOutcome(try await run)
        let gate = router.openGate(of: Self.app)
        defer { withExtendedLifetime(gate) {} }
        // The URL goes on without its sender.
        try await eventually(router.log(of: Self.app)) { $0.contains("open app:x") }
    }

    @Test func connectionCutWhileTheHandlerHasTheURL() async throws {
        let router = try await RouterProcess([Self.app: ["stall=open"]])
        defer { router.stop() }
        let server = try server(router)
        async let run = openurl(router, server, "--host", "box", "app:x")
        try await eventually(router.log(of: Self.app)) { $0.contains("open app:x") }
        try server.cut()
        expectUnknownOutcome(try await run)
    }

    @Test func connectionCutWhileTheAnswerIsOnItsWay() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let server = try server(router)
        let watched = try await router.connection.signals(
            MonitorInterface.entries,
            matching: MatchRule(sender: RouterService.name)
        )
        try await router.connection.call(MonitorInterface.subscribe, on: RouterService.object, MonitorOptions())
        _ = try await router.open("app:before")
        let started = try #require(router.log(of: Self.app).first)
        let handler = try #require(Int32(started.filter(\.isNumber)))
        kill(handler, SIGSTOP)
        async let run = openurl(router, server, "--host", "box", "app:x")
        try await watched.next { $0.body.contains { $0.url == "app:x" && $0.microseconds == nil } }
        // The answer gets as far as the server's end of the connection.
        let session = try server.session()
        let bridge = try #require(session)
        kill(bridge, SIGSTOP)
        kill(handler, SIGCONT)
        try await watched.next { $0.body.contains { $0.url == "app:x" && $0.microseconds != nil && $0.error == nil } }
        try server.cut()
        expectUnknownOutcome(try await run)
        kill(bridge, SIGKILL)
        #expect(try router.log(of: Self.app).contains("open app:x"))
    }

    @Test func connectionCutWhileTheMonitorWatches() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let server = try server(router)
        let seen = router.bus.directory.appending(path: "seen")
        async let run = CommandRun(
            URL(filePath: "/usr/bin/env"),
            [
                "timeout", "--signal=KILL", "120", "sh", "-c", "exec \"$0\" --host box monitor >\"$1\"",
                RouterProcess.command.path,
                seen.path,
            ],
            server.client(router.bus.environment),
            in: router.bus.directory
        )
        // The monitor shows the requests that come after its subscription.
        func sizeAfterOpening() async throws -> Int {
            _ = try await router.open("app:x?secret")
            return FileManager.default.fileExists(atPath: seen.path) ? try Data(contentsOf: seen).count : 0
        }
        try await eventually(await sizeAfterOpening()) { $0 > 0 }
        #expect(try String(contentsOf: seen, encoding: .utf8).contains("app:x?…"))
        try server.cut()
        let reason = "the connection to the session bus of box was lost"
        let expected = "openurl: \(reason); run the command again to see further requests\n"
        let cut = try await run
        #expect(cut.status == 69 && cut.errors.hasSuffix(expected), "\(cut)")
    }

    @Test func monitorOfTheHostEndsAfterItsCount() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let server = try server(router)
        async let counting = openurl(router, server, "--host", "box", "monitor", "--count", "1")
        let opening = Task { while !Task.isCancelled { _ = try await router.open("app:x") } }
        let counted = try await counting
        opening.cancel()
        _ = await opening.result
        #expect(counted.status == 0 && counted.output.contains("app:x") && counted.errors == "", "\(counted)")
    }

    @Test func argumentsOfThisMachineAreRefused() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let server = try server(router)
        for arguments in [
            ["--host", "-oProxyCommand=true", "app:x"], ["--host"], ["--host=", "app:x"], ["--host", "box", "publish"],
            ["--host", "box", "/etc/passwd"], ["--host", "box", "register", "handler.plist"],
            ["--host", "box", "--attach", "a=/etc/passwd", "app:x"], ["--host", "box", "links"],
            ["--host", "box", "links", "list", "--json"],
            ["--host", "box", "intents", "org.freedesktop.Terminal1"],
            ["--host", "box", "default", "--all-links"], ["--host", "box", "default", "--all-links", "--undo"],
            ["--host", "box", "doctor"], ["--host", "box", "check", "handler.plist"],
            ["--host", "box", "new", "com.example.new"], ["--host", "box", "output", "app"],
            ["--host", "box", "share"],
            ["--host", "box", "run", "--claim", "a", "--", "true"], ["--host", "box", "ssh", "other"],
        ] {
            let run = try await CommandRun(
                RouterProcess.command,
                arguments,
                server.client(router.bus.environment),
                in: router.bus.directory
            )
            #expect(run.status == 64, "\(arguments): \(run)")
        }
    }

    @Test func clientReachesTheHost() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let path = try #require(server(router).client(router.bus.environment)["PATH"])
        await #expect(processExitsWith: .success) { [path = path as String] in
            setenv("PATH", path, 1)
            let client = try await OpenURLClient(host: "box")
            #expect(try await client.open(GenericURL("app:x")).handler == "com.example.app")
            await client.close()
            await #expect(throws: OpenURLClientError.self) { _ = try await OpenURLClient(host: "-oProxyCommand=true") }
            await #expect(throws: OpenURLClientError.self) { _ = try await OpenURLClient(host: "") }
        }
        #expect(try router.log(of: Self.app).contains("open app:x"))
    }
}

extension RouterProcess {
}
