import Desktop
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// The scopes of the processes that the router starts, with a manager that the test plays on a private bus.
@Suite(.timeLimit(.minutes(10))) struct ProcessScopeTests {
    @Test func scopeNameFollowsTheRulesOfUnitNames() {
        func name(_ id: String) -> String { TransientScope.name(id, 0xab) }
        #expect(name("com.acme.todolist") == "app-openurl-com.acme.todolist-ab.scope")
        // The characters that separate the parts of the name are escaped inside the parts.
        #expect(name("com.acme.to-do-list") == #"app-openurl-com.acme.to\x2ddo\x2dlist-ab.scope"#)
        #expect(name("a:b_C9") == "app-openurl-a:b_C9-ab.scope")
        #expect(name(".hidden.") == #"app-openurl-\x2ehidden.-ab.scope"#)
        #expect(name("kde/é \\@\u{1}") == #"app-openurl-kde-\xc3\xa9\x20\x5c\x40\x01-ab.scope"#)
    }

    @Test func tooLongNameIsTruncatedBetweenCharacters() {
        let plain = TransientScope.name(String(repeating: "a", count: 1024), .max)
        #expect(plain.utf8.count == 255)
        #expect(plain.hasSuffix("a-ffffffffffffffff.scope"))
        let escaped = TransientScope.name("a" + String(repeating: "-", count: 1024), .max)
        #expect(escaped.utf8.count <= 255 && escaped.utf8.count > 251)
        #expect(escaped.hasSuffix(#"\x2d-ffffffffffffffff.scope"#))
    }

    @Test func handlerAndApplicationGetTheirOwnScopes() async throws {
        let session = try await Session { directory in
            let applications = directory.appending(path: "XDG_DATA_HOME/applications")
            try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
            let entry = """
                [Desktop Entry]
                Type=Application
                Name=My App
                Exec=true %u
                MimeType=x-scheme-handler/app;
                """
            let file = applications.appending(path: "org.example.My-App.desktop")
            try entry.write(to: file, atomically: true, encoding: .utf8)
        }
        defer { session.bus.stop() }
        let manager = try await session.manager { _ in "/org/freedesktop/systemd1/job/1" }
        let handler = try Handler.test("com.example.hand-ler", program: .path("/bin/true"), scheme: "hand")
        let desktop = DesktopDirectories(environment: session.bus.environment)
        let router = URLRouter(
            registry: Registry(handlers: [handler], applications: DesktopApplications(loading: desktop)),
            connection: session.connection,
            environment: session.bus.environment,
            log: session.log.logger
        )
        let error = await failure { () throws(OpenURLError) in try await router.open("hand:1") }
        let fact = "com.example.hand-ler exited with status 0 before it was ready"
        let advice = "if it is a command that only gets the URL as an argument, name it in OUCommand"
        #expect(error?.message == "\(fact); \(advice)")
        #expect(try await router.open("app:1").handler == "org.example.My-App.desktop")

        var scopes = manager.makeAsyncIterator()
        var names: [String] = []
        for id in ["com.example.hand-ler", "org.example.My-App"] {
            let scope = try #require(await scopes.next())
            names.append(scope.name)
            let escaped = id.replacingOccurrences(of: "-", with: #"\x2d"#)
            #expect(scope.name.hasPrefix("app-openurl-\(escaped)-") && scope.name.hasSuffix(".scope"))
            #expect(scope.mode == "fail")
            var properties = Dictionary(uniqueKeysWithValues: scope.properties.map { ($0.name, $0.value) })
            let pid = session.log.pid(of: id) ?? session.log.pid(of: "\(id).desktop")
            #expect(properties.removeValue(forKey: "PIDs") == .array([.uint32(try #require(pid))], of: "u"))
            #expect(
                properties == [
                    "Description": .string("\(id), started by openurl"), "Slice": "app.slice",
                    "CollectMode": "inactive-or-failed", "After": .array(["dbus.service", "dbus.socket"], of: "s"),
                    "Before": .array(["openurld.service"], of: "s"),
                ]
            )
        }
        #expect(Set(names).count == 2)
        #expect(!session.log.lines.contains { $0.contains("scope") })
    }

    @Test func refusalOfTheManagerIsLoggedOnce() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let refusal = RemoteError("org.freedesktop.systemd1.UnitExists", "it is there")
        _ = try await session.manager { _ in throw refusal }
        let scopes = ProcessScopes(session.connection, log: session.log.logger)
        // A process that ends before the manager can move it is not an error.
        await scopes.add(0x7FFF_FFF0, id: "com.example.quick")
        #expect(session.log.lines == [])
        for _ in 0..<2 { await scopes.add(getpid(), id: "com.example.app") }
        #expect(
            session.log.lines == [
                "warning com.example.app: systemd did not give it a scope (reported only once): \(refusal)"
            ]
        )
    }

    @Test func onlyProcessesInTheRoutersScopesGetAWeight() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        var changes = try await session.managerOfWeights().makeAsyncIterator()
        let units: [pid_t: String] = [1: "app-openurl-com.example.app-1.scope", 2: "app-gnome-xterm-1.scope"]
        let scopes = ProcessScopes(session.connection, log: session.log.logger) { units[$0] }
        for process in [3, 2] as [pid_t] { await scopes.weigh(process, .background) }
        for weight in [ProcessWeight.background, .foreground] {
            await scopes.weigh(1, weight)
            let change = try #require(await changes.next())
            #expect(change.name == "app-openurl-com.example.app-1.scope")
            #expect(change.properties.map(\.name) == ["CPUWeight", "IOWeight"])
            #expect(change.properties.map(\.value) == [.uint64(weight.rawValue), .uint64(weight.rawValue)])
        }
        #expect(session.log.lines == [])
    }

    @Test func weightFollowsTheStateOfTheHandler() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        var changes = try await session.managerOfWeights().makeAsyncIterator()
        let unit = "app-openurl-com.example.app-1.scope"
        let process = try RunningProcess()
        defer { process.end() }
        let bus = try FakeHandlers(["com.example.app": ":1.1"])
        bus.setProcess(of: ":1.1", to: process.pid)
        var parts = RouterParts(
            registry: Registry(handlers: [try .test("com.example.app", program: process.program)]),
            bus: bus,
            loop: bus.loop,
            environment: [:],
            limits: .patient,
            log: session.log.logger
        )
        parts.scopes = ProcessScopes(session.connection, log: session.log.logger) { _ in unit }
        parts.examine = ownProgramOrAnother
        let router = URLRouter(parts)
        for url in ["app:1", "app:2"] {
            async let opened = router.open(url)
            await bus.wait(for: .opened(url, at: ":1.1"))
            bus.answer(url, .success(.yes))
            _ = try await opened
            #expect(try #require(await changes.next()).properties.first?.value == .uint64(100))
            try await router.background(BundleIdentifier("com.example.app"))
            #expect(try #require(await changes.next()).properties.first?.value == .uint64(20))
        }
    }

    @Test func silentManagerDelaysNothing() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let manager = try await session.manager { _ in
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return "/"
        }
        let scopes = ProcessScopes(session.connection, log: session.log.logger, timeout: .milliseconds(20))
        let loop = session.connection.loop
        let output = HandlerOutput(in: nil, on: loop, log: session.log.logger)
        let launcher = HandlerLauncher(environment: [:], loop: loop, output: output, scopes: scopes)
        let handler = try Handler.test("com.example.app", program: .path("/bin/true"))
        #expect(try await launcher.run(handler) == .exited(status: 0))
        var received = manager.makeAsyncIterator()
        #expect(await received.next()?.name.hasPrefix("app-openurl-com.example.app-") == true)
        for _ in 0..<2 { await scopes.add(getpid(), id: "com.example.other") }
        #expect(
            session.log.lines == [
                "warning com.example.other: systemd did not give it a scope (reported only once): no answer came in time"
            ]
        )
    }

    @Test func missingManagerIsNotStarted() async throws {
        let session = try await Session { directory in
            let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            let service = """
                [D-BUS Service]
                Name=org.freedesktop.systemd1
                Exec=/bin/touch \(directory.path)/started
                """
            let file = services.appending(path: "org.freedesktop.systemd1.service")
            try service.write(to: file, atomically: true, encoding: .utf8)
        }
        defer { session.bus.stop() }
        let scopes = ProcessScopes(session.connection, log: session.log.logger)
        // If the bus had started the service, the failed start would have come before the end of this call.
        await scopes.add(getpid(), id: "com.example.app")
        #expect(!FileManager.default.fileExists(atPath: "\(session.bus.directory.path)/started"))
        #expect(session.log.lines == [])
    }
}

/// A private bus with the router's connection and its log.
private struct Session {
    let bus: PrivateBus
    let connection: Connection
    let log = RecordedLog()

    init(prepare: (URL) throws -> Void = { _ in }) async throws {
        bus = try await PrivateBus(prepare: prepare)
        connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
    }

    /// Plays the manager of systemd, and returns the changes that the router asks for.
    func managerOfWeights() async throws -> AsyncStream<UnitChange> {
        let (changes, continuation) = AsyncStream<UnitChange>.makeStream()
        let manager = try await Connection.open(.address(bus.address), on: connection.loop)
        let method = ExportedInterface.Member.method(SystemdManager.setUnitProperties) { _, change in
            continuation.yield(change)
            return Empty()
        }
        await manager.export([ExportedInterface(SystemdManager.interface, [method])], at: SystemdManager.object.path)
        try #require(try await manager.requestName(SystemdManager.name) == .owned)
        return changes
    }

    /// Plays the manager of systemd.
    ///
    /// - Returns: The scopes that the router asks for.
    func manager(
        _ answer: @escaping @Sendable (TransientScope) async throws -> ObjectPath
    ) async throws -> AsyncStream<TransientScope> {
        let (scopes, continuation) = AsyncStream<TransientScope>.makeStream()
        let manager = try await Connection.open(.address(bus.address), on: connection.loop)
        let method = ExportedInterface.Member.method(SystemdManager.startTransientUnit) { _, scope in
            continuation.yield(scope)
            return try await answer(scope)
        }
        let interface = ExportedInterface(SystemdManager.startTransientUnit.interface, [method])
        await manager.export([interface], at: SystemdManager.object.path)
        let name = SystemdManager.name
        try #require(try await manager.requestName(name) == .owned)
        return scopes
    }
}
