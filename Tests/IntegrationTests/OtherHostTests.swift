import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// URLs for the router of another host (`openurl --to`), through a real sshd.
@Suite(.timeLimit(.minutes(10))) struct OtherHostTests {
    private static let app = "com.example.app"

    /// Two routers, and the server through which the first one reaches the second.
    private struct Pair {
        let near: RouterProcess
        let far: RouterProcess
        let server: SSHServer

        func stop() {
            near.stop()
            far.stop()
        }

        /// Opens a URL on the far host, and returns its number in the queue.
        func send(_ url: String, lifetime: Duration? = nil) async throws -> UInt64 {
            var options = OpenOptions()
            options.host = HostName(rawValue: "far")
            options.lifetime = lifetime
            let result = try await near.open(url, options)
            #expect(result.way == .queued && result.handler == "host:far")
            return try #require(result.id.flatMap { UInt64($0) })
        }

        func outcome(of id: UInt64) async throws(CallError) -> OpenResult {
            try await near.connection.call(
                QueueInterface.wait,
                on: RouterService.object,
                "\(id)",
                timeout: .seconds(120)
            )
        }

        func failure(of id: UInt64) async throws -> OpenURLError {
            do throws(CallError) {
                let result = try await outcome(of: id)
                Issue.record("the URL was opened: \(result)")
                return OpenURLError(.noHandler, "")
            } catch {
                guard case .remote(let error) = error else { throw error }
                return try #require(OpenURLError(error), "\(error)")
            }
        }

        func opened() throws -> [String] {
            try far.log(of: OtherHostTests.app).filter { $0.hasPrefix("open ") }
        }

        func list() async throws -> [HostEntry] {
            try await near.connection.call(HostsInterface.list, on: RouterService.object, Empty())
        }
    }

    /// Starts the routers.
    ///
    /// - Parameters:
    ///   - rule: the far host's rule.
    ///   - receiver: the command that the far host runs for the key.
    private func pair(
        rule: String = "allow app from host:desktop",
        _ arguments: [String] = [],
        receiver: String = "openurl receive --from desktop"
    ) async throws -> Pair {
        let far = try await RouterProcess([Self.app: arguments]) { directory in
            let folder = directory.appending(path: "XDG_CONFIG_HOME/openurl")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("\(rule)\n".utf8).write(to: folder.appending(path: "policy.conf"))
        }
        let server = try SSHServer(
            in: far.bus.directory,
            [
                "DBUS_SESSION_BUS_ADDRESS": far.bus.address,
                "PATH": "\(RouterProcess.products.path):/usr/bin:/bin",
            ]
        )
        let session = """
            #!/bin/sh
            echo $$ >\(server.file("session.pid").path)
            exec \(receiver.replacing("openurl ", with: "\(RouterProcess.command.path) "))

            """
        try Data(session.utf8).write(to: server.file("session"))
        let path = try #require(server.client(far.bus.environment)["PATH"])
        let near = try await RouterProcess(variables: ["PATH": path], isSecond: true)
        try await near.connection.call(HostsInterface.add, on: RouterService.object, Arguments("far", "ssh:box"))
        return Pair(near: near, far: far, server: server)
    }

    @Test func urlIsOpenedThereAndItsReplyReturns() async throws {
        let pair = try await pair()
        defer { pair.stop() }
        let result = try await pair.outcome(of: pair.send("app:1"))
        #expect(result.handler == Self.app && result.id == nil)
        #expect(result.reply["source-class"] == .string("remote"))
        #expect(try pair.opened() == ["open app:1"])
        let hosts = try await pair.list()
        #expect(hosts.map(\.name) == ["far"])
        #expect(hosts.first?.state == .connected && hosts.first?.address == "ssh:box")
    }

    /// The other host must not use the keys of the user's agent, even if the user's configuration forwards it.
    @Test func agentIsNotForwarded() async throws {
        let pair = try await pair()
        defer { pair.stop() }
        let (client, options) = (pair.server.file("client"), pair.server.file("options"))
        let configuration = try String(contentsOf: client, encoding: .utf8)
        try Data("\(configuration)    ForwardAgent yes\n    GSSAPIDelegateCredentials yes\n".utf8).write(to: client)
        try writeProgram(
            """
            #!/bin/sh
            /usr/bin/ssh -G -F \(client.path) "$@" >\(options.path)
            exec /usr/bin/ssh -F \(client.path) "$@"

            """,
            to: pair.server.file("bin/ssh").path
        )
        #expect(try await pair.outcome(of: pair.send("app:1")).handler == Self.app)
        let read = try String(contentsOf: options, encoding: .utf8)
        #expect(read.contains("forwardagent no\n") && read.contains("gssapidelegatecredentials no\n"), "\(read)")
    }

    @Test(arguments: ["allow app from host:other", "ask app from host:desktop"])
    func nothingIsAcceptedWithoutARule(rule: String) async throws {
        let pair = try await pair(rule: rule)
        defer { pair.stop() }
        let error = try await pair.failure(of: pair.send("app:1"))
        #expect(error.code == .notAllowed)
        // The other host learns neither the rule nor the file.
        #expect(!error.message.contains("policy.conf") && !error.message.contains(rule), "\(error)")
        #expect(try pair.opened().isEmpty)
        // The dead letter stays here.
        #expect(try await pair.near.queuedURLs().map(\.state) == [.dead])
        #expect(try await pair.far.queuedURLs().isEmpty)
    }

    /// Otherwise, a host could find out what is installed.
    @Test(arguments: ["app:1", "nobody:1"]) func refusalDoesNotDependOnTheHandlers(url: String) async throws {
        let pair = try await pair(rule: "allow other from host:desktop")
        defer { pair.stop() }
        #expect(try await pair.failure(of: pair.send(url)).code == .notAllowed)
        var options = OpenOptions()
        options.host = HostName(rawValue: "far")
        for handler in [Self.app, "com.example.nobody"] {
            options.handler = handler
            let id = try await pair.near.open("https://x.example/", options).id.flatMap { UInt64($0) }
            #expect(try await pair.failure(of: #require(id)).code == .notAllowed)
        }
    }

    /// The far router may still open the URL, so its end is no outcome.
    @Test func endOfTheFarRouterIsNoOutcome() async throws {
        let pair = try await pair(["hang=open"])
        defer { pair.stop() }
        _ = try await pair.send("app:1")
        try await eventually(pair.opened()) { $0 == ["open app:1"] }
        kill(pair.far.pid, SIGTERM)
        let entries = try await eventually(await pair.near.queuedURLs()) { $0.first?.error != nil }
        #expect(entries.first?.state != .dead, "\(entries)")
    }

    /// Only the key's owner, not the sender, gives the name.
    @Test func hostWithoutANameIsOnlyRemote() async throws {
        let named = try await pair(receiver: "openurl receive")
        let error = try await named.failure(of: named.send("app:1"))
        named.stop()
        #expect(error.code == .notAllowed)
        let remote = try await pair(rule: "allow app from remote", receiver: "openurl receive")
        defer { remote.stop() }
        #expect(try await remote.outcome(of: remote.send("app:2")).handler == Self.app)
    }

    @Test func urlWaitsUntilTheHostIsBack() async throws {
        let pair = try await pair()
        defer { pair.stop() }
        let key = try Data(contentsOf: pair.server.file("authorized"))
        try Data().write(to: pair.server.file("authorized"))
        let id = try await pair.send("app:1")
        let hosts = try await eventually(await pair.list()) { $0.first?.problem != nil }
        #expect(hosts.first?.state == .unreachable && hosts.first?.waiting == 1)
        #expect(hosts.first?.problem?.contains("Permission denied") == true, "\(hosts)")
        let entries = try await eventually(await pair.near.queuedURLs()) { $0.first?.state == .waiting }
        #expect(entries.map(\.attempts) == [0])
        try key.write(to: pair.server.file("authorized"))
        // The user need not wait for the next attempt.
        try await pair.near.connection.call(QueueInterface.retry, on: RouterService.object, "\(id)")
        #expect(try await pair.outcome(of: id).handler == Self.app)
        #expect(try pair.opened() == ["open app:1"])
    }

    @Test func handlersRefusalIsTheOutcome() async throws {
        let pair = try await pair(["decline=sorry"])
        defer { pair.stop() }
        let error = try await pair.failure(of: pair.send("app:1"))
        #expect(error.code == .declined, "\(error)")
        #expect(try await pair.far.queuedURLs().isEmpty)
    }

    @Test func unknownHostIsRefused() async throws {
        let pair = try await pair()
        defer { pair.stop() }
        var options = OpenOptions()
        options.host = HostName(rawValue: "nowhere")
        #expect(try await pair.near.failure("app:1", options).code == .noHandler)
    }

    @Test func hostsMayBeWrittenByHand() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let file = router.bus.directory.appending(path: "XDG_CONFIG_HOME/openurl/hosts.conf")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        func names() async throws -> [String] {
            try await router.connection.call(HostsInterface.list, on: RouterService.object, Empty()).map(\.name)
        }
        #expect(try await names() == [])
        try Data("kiosk bridge:\n".utf8).write(to: file)
        try await eventually(await names()) { $0 == ["kiosk"] }
        let lines = (1...22).map { "broken\($0)\n" }.joined()
        try Data("\(lines)kiosk bridge:\n".utf8).write(to: file)
        func problems() async throws -> [String] {
            try await router.connection.call(HostsInterface.problems, on: RouterService.object, Empty())
        }
        let found = try await eventually(await problems()) { !$0.isEmpty }
        let line = "\(file.path): line 1 is not a host's name and address: broken1"
        #expect(found.first == line && found.count == 21 && found.last == "\(file.path): 2 more lines cannot be used")
        let shown = try await router.openurl("hosts")
        #expect(shown.status == 0 && shown.output.contains("kiosk"), "\(shown)")
        #expect(shown.errors.hasPrefix("openurl: \(line)\n"), "\(shown)")
        try FileManager.default.removeItem(at: file)
        try await eventually(await names()) { $0.isEmpty }
        #expect(try await problems() == [])
    }

    @Test func expiredURLIsNeverOpened() async throws {
        let pair = try await pair()
        defer { pair.stop() }
        let key = try Data(contentsOf: pair.server.file("authorized"))
        try Data().write(to: pair.server.file("authorized"))
        var ids = [try await pair.send("app:late", lifetime: .milliseconds(1))]
        // These expire while the first of them is written.
        for number in 1...3 { ids.append(try await pair.send("app:\(number)", lifetime: .milliseconds(500))) }
        for id in ids {
            let error = try await pair.failure(of: id)
            #expect(error.code == .timedOut && error.message.contains("expired"), "\(error)")
        }
        try key.write(to: pair.server.file("authorized"))
        #expect(try await pair.outcome(of: pair.send("app:next")).handler == Self.app)
        #expect(try pair.opened() == ["open app:next"])
    }

    /// The connection is cut again and again while URLs are on their way in both directions.
    @Test func cutsNeitherLoseNorRepeatAURL() async throws {
        let pair = try await pair()
        defer { pair.stop() }
        let count = 200
        var ids: [UInt64] = []
        for number in 1...count { ids.append(try await pair.send("app:\(number)")) }
        for cut in 1...5 {
            try await eventually(pair.opened().count) { $0 >= cut * count / 8 }
            try pair.server.cut()
        }
        for id in ids { #expect(try await pair.outcome(of: id).handler == Self.app) }
        let opened = try pair.opened()
        #expect(opened.count == count)
        #expect(Set(opened) == Set((1...count).map { "open app:\($0)" }))
        #expect(try await pair.near.queuedURLs().isEmpty)
    }
}
