import Desktop
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The services in which the router's processes run, with a manager that the test plays on a private bus. It starts the
/// processes, and reports their ends, as systemd's manager does.
@Suite(.timeLimit(.minutes(10))) struct ProcessServiceTests {
    @Test func serviceNameFollowsTheRulesOfUnitNames() {
        func name(_ id: String) -> String { TransientUnit.name(id, 0xab) }
        #expect(name("com.acme.todolist") == "app-openurl-com.acme.todolist-ab.service")
        // The characters that separate the parts of the name are escaped inside the parts.
        #expect(name("com.acme.to-do-list") == #"app-openurl-com.acme.to\x2ddo\x2dlist-ab.service"#)
        #expect(name("a:b_C9") == "app-openurl-a:b_C9-ab.service")
        #expect(name(".hidden.") == #"app-openurl-\x2ehidden.-ab.service"#)
        #expect(name("kde/é \\@\u{1}") == #"app-openurl-kde-\xc3\xa9\x20\x5c\x40\x01-ab.service"#)
        let path = TransientUnit.path(of: #"app-a\x2db_C9.service"#)
        #expect(path == "/org/freedesktop/systemd1/unit/app_2da_5cx2db_5fC9_2eservice")
    }

    @Test func tooLongNameIsTruncatedBetweenCharacters() {
        let plain = TransientUnit.name(String(repeating: "a", count: 1024), .max)
        #expect(plain.utf8.count == 255)
        #expect(plain.hasSuffix("a-ffffffffffffffff.service"))
        let escaped = TransientUnit.name("a" + String(repeating: "-", count: 1024), .max)
        #expect(escaped.utf8.count <= 255 && escaped.utf8.count > 251)
        #expect(escaped.hasSuffix(#"\x2d-ffffffffffffffff.service"#))
    }

    @Test func handlerAndApplicationRunAsServices() async throws {
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
        let manager = try await PlayedManager(on: session)
        let handler = try Handler.test("com.example.hand-ler", program: .path("/bin/true"), scheme: "hand")
        let desktop = DesktopDirectories(environment: session.bus.environment)
        let router = URLRouter(
            registry: Registry(handlers: [handler], applications: DesktopApplications(loading: desktop)),
            connection: session.connection,
            environment: session.bus.environment,
            stores: RouterStores(),
            log: session.log.logger
        )
        let caller = try #require(session.connection.uniqueName)
        let error = await failure { () throws(OpenURLError) in try await router.open("hand:1", from: caller) }
        let fact = "com.example.hand-ler exited with status 0 before it was ready"
        let advice = "if it is a command that only gets the URL as an argument, name it in OUCommand"
        #expect(error?.message == "\(fact); \(advice)")
        #expect(try await router.open("app:1").handler == "org.example.My-App.desktop")

        var units = manager.units.makeAsyncIterator()
        var names: [String] = []
        for (id, command) in [("com.example.hand-ler", ["/bin/true"]), ("org.example.My-App", ["true", "app:1"])] {
            let unit = try #require(await units.next())
            names.append(unit.name)
            let escaped = id.replacingOccurrences(of: "-", with: #"\x2d"#)
            #expect(unit.name.hasPrefix("app-openurl-\(escaped)-") && unit.name.hasSuffix(".service"))
            #expect(unit.mode == "fail")
            var properties = Dictionary(uniqueKeysWithValues: unit.properties.map { ($0.name, $0.value) })
            for name in ["Environment", "UnsetEnvironment", "WorkingDirectory"] {
                #expect(properties.removeValue(forKey: name) != nil)
            }
            for name in ["StandardOutputFileDescriptor", "StandardErrorFileDescriptor"] {
                guard case .unixFD? = properties.removeValue(forKey: name) else { throw Unexpected("\(name)") }
            }
            let path = try #require(command[0] == "true" ? which("true", session) : command[0])
            let start: Value = .structure([.string(path), .strings(command), .strings(["no-env-expand"])])
            #expect(properties.removeValue(forKey: "ExecStartEx") == .array([start], of: "(sasas)"))
            #expect(
                properties == [
                    "Description": .string("\(id), started by openurl"),
                    "Slice": "app.slice",
                    "Type": "exec",
                    "ExitType": "cgroup",
                    "OOMPolicy": "continue",
                    "AddRef": true,
                    "CollectMode": "inactive-or-failed",
                    "After": .strings(["dbus.service", "dbus.socket"]),
                    "Before": .strings(["openurld.service"]),
                ]
            )
        }
        #expect(Set(names).count == 2)
        // The router lets go of each service whose end it knows.
        var released = manager.released.makeAsyncIterator()
        for name in names { #expect(await released.next() == name) }
    }

    @Test func processGetsItsArgumentsVariablesAndOutput() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let manager = try await PlayedManager(on: session)
        let file = "\(session.bus.directory.path)/output"
        let handler = try Handler.test("com.example.app", program: .path("/bin/sh")) {
            let script = #"{ printf '<%s>' "$@"; echo "$MARK${INVOCATION_ID-none}"; } >\#(file); exit 3"#
            $0.arguments = ["-c", script, "sh", "$A", "%h"]
            $0.environment = ["MARK": "$B", "not a variable": "1"]
        }
        #expect(try await session.launcher(manager).run(handler) == .exited(status: 3))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "<$A><%h>$Bnone\n")
    }

    @Test func signalThatEndsTheProcessIsReported() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let manager = try await PlayedManager(on: session)
        let handler = try Handler.test("com.example.app", program: .path("/bin/sh")) {
            $0.arguments = ["-c", "kill -9 $$"]
        }
        #expect(try await session.launcher(manager).run(handler) == .signalled(SIGKILL))
    }

    @Test func refusalOfTheManagerFailsTheLaunch() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let refusal = RemoteError("org.freedesktop.systemd1.UnitExists", "it is there")
        let manager = try await PlayedManager(on: session, .refuses(refusal))
        let error = try await session.launchFailure(manager)
        #expect(error?.code == .launchFailed)
        #expect(error?.message.contains("systemd did not start it: \(refusal)") == true)
    }

    @Test func fileThatIsNotExecutedFailsTheLaunch() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let manager = try await PlayedManager(on: session, .fails(status: 203))
        let error = try await session.launchFailure(manager)
        #expect(error?.code == .launchFailed)
        let reason = "its file cannot be executed; 'journalctl --user -u app-openurl-com.example.app-"
        #expect(error?.message.contains(reason) == true)
    }

    /// systemd 252 reports the start of a service with `ExitType=cgroup` before it knows that the file was not executed.
    @Test func failureThatIsReportedAfterTheStartIsAFailedStart() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let manager = try await PlayedManager(on: session, .failsLate(status: 203))
        let error = try await session.launchFailure(manager)
        #expect(error?.code == .launchFailed)
        #expect(error?.message.contains("its file cannot be executed") == true)
    }

    @Test func serviceThatIsNotStartedInTimeIsStopped() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let manager = try await PlayedManager(on: session, .isSilent)
        let error = try await session.launchFailure(manager, within: .milliseconds(50))
        #expect(error?.code == .launchFailed)
        var units = manager.units.makeAsyncIterator()
        var stopped = manager.stopped.makeAsyncIterator()
        #expect(await stopped.next() == units.next()?.name)
    }

    @Test func exitThatIsNotReportedIsUnknown() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let manager = try await PlayedManager(on: session, .reportsNoExit)
        let handler = try Handler.test("com.example.app", program: .path("/bin/true"))
        #expect(try await session.launcher(manager, timeout: .milliseconds(20)).run(handler) == .unknown)
        #expect(session.log.lines.contains { $0.contains("systemd did not report how process") })
    }

    /// The session has many other units, and reports about them would wake an idle router.
    @Test func onlyTheStartedServiceIsFollowed() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let launcher = session.launcher(try await PlayedManager(on: session))
        let handler = try Handler.test("com.example.app", program: .path("/bin/sleep")) { $0.arguments = ["60"] }
        let (ends, ended) = AsyncStream<Void>.makeStream()
        try await Task(executorPreference: session.connection.loop) {
            let process = try await launcher.launch(handler, for: nil, within: .seconds(60)) { _ in ended.finish() }
            defer { process.handle.kill() }
            let list = Method<Empty, [String: [String]]>("org.freedesktop.DBus.Debug.Stats", "GetAllMatchRules")
            let bus = RemoteObject("org.freedesktop.DBus", "/org/freedesktop/DBus")
            let rules = try await session.connection.call(list, on: bus, Empty()).values.joined()
            let followed = rules.filter { $0.contains(SystemdManager.units.rawValue) }
            #expect(followed.count == 1)
            #expect(
                followed.first?.contains("path='\(SystemdManager.units)/app_2dopenurl_2dcom_2eexample_2eapp_2d") == true
            )
        }.value
        // Without its loop, which ends with the bus, the manager would not collect the exit status.
        for await _ in ends {}
    }

    @Test func callOfAProcessThatIsBeingStartedWaits() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        let manager = try await PlayedManager(on: session, .isSilent)
        let launcher = session.launcher(manager)
        let handler = try Handler.test("com.example.app", program: .path("/bin/true"))
        let start = Task(executorPreference: session.connection.loop) {
            do throws(OpenURLError) {
                _ = try await launcher.launch(handler, for: nil, within: .seconds(60)) { _ in }
                return false
            } catch {
                return true
            }
        }
        var units = manager.units.makeAsyncIterator()
        let loop = session.connection.loop
        func isStarting() async -> Bool { await loop.run { launcher.isInStartingService(getpid()) } }
        let unit = try #require(await units.next())
        manager.processes.withLock { $0[getpid()] = "app-openurl-other.service" }
        #expect(await !isStarting())
        manager.processes.withLock { $0[getpid()] = unit.name }
        #expect(await isStarting())
        start.cancel()
        #expect(await start.value)
        #expect(await !isStarting())
    }

    @Test func onlyProcessesInTheRoutersServicesGetAWeight() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        var changes = try await PlayedManager(on: session).changes.makeAsyncIterator()
        let units: [pid_t: String] = [1: "app-openurl-com.example.app-1.service", 2: "app-gnome-xterm-1.service"]
        let services = ProcessServices(session.owners, log: session.log.logger) { units[$0] }
        for process in [3, 2] as [pid_t] { await services.weigh(process, .background) }
        for weight in [ProcessWeight.background, .foreground] {
            await services.weigh(1, weight)
            let change = try #require(await changes.next())
            #expect(change.name == "app-openurl-com.example.app-1.service")
            #expect(change.properties.map(\.name) == ["CPUWeight", "IOWeight"])
            #expect(change.properties.map(\.value) == [.uint64(weight.rawValue), .uint64(weight.rawValue)])
        }
        #expect(session.log.lines == [])
    }

    @Test func weightFollowsTheStateOfTheHandler() async throws {
        let session = try await Session()
        defer { session.bus.stop() }
        var changes = try await PlayedManager(on: session).changes.makeAsyncIterator()
        let unit = "app-openurl-com.example.app-1.service"
        let process = try RunningProcess()
        defer { process.end() }
        let bus = try FakeHandlers(["com.example.app": ":1.1"])
        bus.setProcess(of: ":1.1", to: process.pid)
        var parts = RouterParts(
            registry: Registry(handlers: [try .test("com.example.app", program: process.program)]),
            bus: bus,
            signals: bus,
            loop: bus.loop,
            environment: [:],
            limits: .patient,
            log: session.log.logger
        )
        parts.services = ProcessServices(session.owners, log: session.log.logger) { _ in unit }
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
        let services = ProcessServices(session.owners, log: session.log.logger)
        let handler = try Handler.test("com.example.app", program: .path("/bin/sh")) {
            $0.arguments = ["-c", "exit 3"]
        }
        // If the bus had started the service, the failed start would have come before the end of the call for it.
        #expect(try await session.launcher(services).run(handler) == .exited(status: 3))
        #expect(!FileManager.default.fileExists(atPath: "\(session.bus.directory.path)/started"))
        #expect(session.log.lines == [])
    }
}

/// A private bus with the router's connection and its log.
private struct Session {
    let bus: PrivateBus
    let connection: Connection
    let log = RecordedLog()
    var owners: ServiceOwners { ServiceOwners(connection, log: log.logger) }

    init(prepare: (URL) throws -> Void = { _ in }) async throws {
        bus = try await PrivateBus(prepare: prepare)
        connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
    }

    func launcher(_ services: ProcessServices) -> HandlerLauncher {
        let output = HandlerOutput(in: nil, on: connection.loop, log: log.logger)
        return HandlerLauncher(environment: [:], loop: connection.loop, output: output, services: services)
    }

    /// - Parameter timeout: the time limit for the report of an exit.
    func launcher(_ manager: PlayedManager, timeout: Duration = .seconds(60)) -> HandlerLauncher {
        launcher(
            ProcessServices(owners, log: log.logger, timeout: timeout) { pid in
                manager.processes.withLock { $0[pid] }
            }
        )
    }

    /// Starts a program, and returns the reason why the launch failed.
    func launchFailure(_ manager: PlayedManager, within limit: Duration = .seconds(60)) async throws -> OpenURLError? {
        let launcher = launcher(manager)
        let handler = try Handler.test("com.example.app", program: .path("/bin/true"))
        return await Task(executorPreference: connection.loop) {
            do throws(OpenURLError) {
                _ = try await launcher.launch(handler, for: nil, within: limit) { _ in }
                return nil
            } catch {
                return error
            }
        }.value
    }
}

extension PlayedManager {
    fileprivate convenience init(on session: Session, _ behaviour: Behaviour = .starts) async throws {
        self.init(try await Connection.open(.address(session.bus.address), on: session.connection.loop), behaviour)
        try await takeName()
    }
}

private struct Unexpected: Error {
    let what: String
    init(_ what: String) { self.what = what }
}

/// Returns the path of a program on the `PATH` of the session.
private func which(_ name: String, _ session: Session) -> String? {
    (session.bus.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
}

extension Value {
    fileprivate static func strings(_ strings: [String]) -> Value { .array(strings.map(Value.string), of: "s") }
}
