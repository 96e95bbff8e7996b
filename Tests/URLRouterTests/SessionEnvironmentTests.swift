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

/// The environment of the session, with a manager that the test plays on a private bus.
@Suite(.timeLimit(.minutes(10))) struct SessionEnvironmentTests {
    @Test func managerCompletesAndTakesBackVariables() async throws {
        let (bus, connection) = try await session()
        defer { bus.stop() }
        let manager = try await Manager(bus, on: connection.loop)
        let own = ["HOME": "/home/u", "LANG": "C", "EXTRA": "1"]
        let personal = ["NOTIFY_SOCKET": "/x", "NOTIFY_FD": "7", "SYSTEMD_NSS_BYPASS_BUS": "1"]
        let environment = SessionEnvironment(
            own.merging(personal) { $1 },
            from: ServiceOwners(connection, log: RecordedLog().logger),
            on: connection.loop,
            log: RecordedLog().logger
        )
        #expect(await environment.variables == ["HOME": "/home/u", "LANG": "C", "EXTRA": "1"])

        await manager.set(["HOME=/home/u", "LANG=de_DE.UTF-8", "DISPLAY=:7", "EQUALS=a=b", "PWD=/", "damaged"])
        await environment.startUpdate()?.value
        let imported = ["HOME": "/home/u", "LANG": "de_DE.UTF-8", "EXTRA": "1", "DISPLAY": ":7", "EQUALS": "a=b"]
        #expect(await environment.variables == imported)

        // The manager has never had EXTRA, so the variable stays.
        await manager.set(["HOME=/home/u", "WAYLAND_DISPLAY=wayland-0"])
        await environment.startUpdate()?.value
        #expect(await environment.variables == ["HOME": "/home/u", "EXTRA": "1", "WAYLAND_DISPLAY": "wayland-0"])
    }

    @Test func variablesOfAManagerThatHasGoneAreForgotten() async throws {
        let (bus, connection) = try await session()
        defer { bus.stop() }
        let manager = try await Manager(bus, on: connection.loop)
        let environment = SessionEnvironment(
            ["HOME": "/h"],
            from: ServiceOwners(connection, log: RecordedLog().logger),
            on: connection.loop,
            log: RecordedLog().logger
        )
        await manager.set(["HOME=/home/u", "DISPLAY=:7", "LD_PRELOAD=/tmp/x.so"])
        await environment.startUpdate()?.value
        #expect(await environment.variables == ["HOME": "/home/u", "DISPLAY": ":7"])
        try await manager.end()
        await environment.startUpdate()?.value
        #expect(await environment.variables == ["HOME": "/h"])
    }

    @Test func managerThatComesLaterIsAsked() async throws {
        let (bus, connection) = try await session()
        defer { bus.stop() }
        let environment = SessionEnvironment(
            ["HOME": "/h"],
            from: ServiceOwners(connection, log: RecordedLog().logger),
            on: connection.loop,
            log: RecordedLog().logger
        )
        func isMissingAfterUpdate() async -> Bool {
            await environment.startUpdate()?.value
            return await environment.isMissing
        }
        try await eventually(await isMissingAfterUpdate()) { $0 }
        #expect(await environment.variables == ["HOME": "/h"])
        let manager = try await Manager(bus, on: connection.loop)
        await manager.set(["HOME=/h", "DISPLAY=:7"])
        try await eventually(await environment.isMissing) { !$0 }
        await environment.startUpdate()?.value
        #expect(await environment.variables == ["HOME": "/h", "DISPLAY": ":7"])
    }

    @Test func sessionWithoutManagerHasTheRoutersVariables() async throws {
        let (bus, connection) = try await session()
        defer { bus.stop() }
        let log = RecordedLog()
        let environment = SessionEnvironment(
            ["DISPLAY": ":1"],
            from: ServiceOwners(connection, log: log.logger),
            on: connection.loop,
            log: log.logger
        )
        await environment.startUpdate()?.value
        #expect(await environment.variables == ["DISPLAY": ":1"])
        #expect(log.lines == [])
    }

    @Test func silentManagerDelaysOneLaunchAndIsAskedAgain() async throws {
        let (bus, connection) = try await session()
        defer { bus.stop() }
        // The manager's loop does not run while it is held.
        let loop = try bus.makeLoop()
        let manager = try await Manager(bus, on: loop)
        await manager.set(["DISPLAY=:7"])
        let (held, holding) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        loop.execute {
            holding.signal()
            held.wait()
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                holding.wait()
                continuation.resume()
            }
        }
        let log = RecordedLog()
        let environment = SessionEnvironment(
            [:],
            from: ServiceOwners(connection, log: log.logger),
            on: connection.loop,
            log: log.logger,
            timeout: .milliseconds(50)
        )
        await environment.startUpdate()?.value
        await environment.startUpdate()?.value
        #expect(await environment.variables == [:])
        #expect(log.lines == ["warning : systemd did not report the session's environment: no answer came in time"])
        held.signal()
        // A launch does not wait for a manager that was silent, so the answer comes after one of these.
        func variablesAfterUpdate() async -> [String: String] {
            await environment.startUpdate()?.value
            return await environment.variables
        }
        try await eventually(await variablesAfterUpdate()) { !$0.isEmpty }
        #expect(await environment.variables == ["DISPLAY": ":7"])
    }

    @Test func launchGetsTheVariablesOfItsTime() async throws {
        let (bus, connection) = try await session { directory in
            let applications = directory.appending(path: "XDG_DATA_HOME/applications")
            try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
            let entry = """
                [Desktop Entry]
                Type=Application
                Name=App
                Exec=sh -c "test $DISPLAY = :8"
                MimeType=x-scheme-handler/app;
                """
            let file = applications.appending(path: "org.example.app.desktop")
            try entry.write(to: file, atomically: true, encoding: .utf8)
        }
        defer { bus.stop() }
        let manager = try await Manager(bus, on: connection.loop)
        let handler = try Handler.test("com.example.hand", program: .path("/bin/sh"), scheme: "hand") {
            $0.arguments = ["-c", "exit ${DISPLAY#:}"]
        }
        let desktop = DesktopDirectories(environment: bus.environment)
        let router = URLRouter(
            registry: Registry(handlers: [handler], applications: DesktopApplications(loading: desktop)),
            connection: connection,
            environment: bus.environment,
            stores: RouterStores(),
            log: RecordedLog().logger
        )
        let caller = try #require(connection.uniqueName)
        for display in [7, 8] {
            await manager.set(["DISPLAY=:\(display)"])
            let error = await failure { () throws(OpenURLError) in try await router.open("hand:1", from: caller) }
            #expect(error?.message == "com.example.hand exited with status \(display) before it was ready")
        }
        #expect(try await router.open("app:1").handler == "org.example.app.desktop")
    }

    // MARK: The display of the caller

    @Test func sessionWithoutDisplayGetsThatOfTheCaller() async throws {
        let caller = try RunningProcess(["DISPLAY": ":9", "XAUTHORITY": "/x", "LD_PRELOAD": "", "HOME": "/other"])
        defer { caller.end() }
        try await caller.waitUntilItRuns()
        #expect(
            CallerDisplay.complete(["HOME": "/home/u"], from: caller.pid)
                == ["HOME": "/home/u", "DISPLAY": ":9", "XAUTHORITY": "/x"]
        )
        for known in [["DISPLAY": ":1"], ["WAYLAND_DISPLAY": "wayland-0"]] {
            #expect(CallerDisplay.complete(known, from: caller.pid) == known)
        }
        #expect(CallerDisplay.complete([:], from: nil) == [:])
        #expect(CallerDisplay.complete([:], from: 0x7FFF_FFF0) == [:])
    }

    @Test func callersVariablesDelayNothing() async throws {
        // One argument of a program has at most 128 KiB.
        let marks = "a" + String(repeating: "\u{301}\u{316}", count: 28_000)
        let caller = try RunningProcess(
            ["DISPLAY": ":9"],
            wrapper: ["/usr/bin/env", "\(marks)=value", "name=\(marks)"]
        )
        defer { caller.end() }
        try await caller.waitUntilItRuns()
        let time = threadTime {
            #expect(CallerDisplay.complete([:], from: caller.pid) == ["DISPLAY": ":9"])
        }
        // Each comparison takes 0.6 seconds otherwise.
        #expect(time < .seconds(1))
    }

    @Test func confinedCallerChoosesNoDisplay() async throws {
        // The process has a view of the users of its own, as in a sandbox.
        let caller = try RunningProcess(["DISPLAY": ":9"], wrapper: ["/usr/bin/unshare", "--user"])
        defer { caller.end() }
        try await caller.waitUntilItRuns()
        #expect(CallerDisplay.complete([:], from: caller.pid) == [:])
    }

    private func session(
        prepare: (URL) throws -> Void = { _ in }
    ) async throws -> (bus: PrivateBus, connection: Connection) {
        let bus = try await PrivateBus(prepare: prepare)
        return (bus, try await Connection.open(.address(bus.address), on: try bus.makeLoop()))
    }
}

/// Plays the manager of systemd.
private actor Manager {
    private let connection: Connection
    private let entries = Lock<[String]>([])
    private let services: PlayedManager

    init(_ bus: PrivateBus, on loop: EventLoop) async throws {
        connection = try await Connection.open(.address(bus.address), on: loop)
        services = PlayedManager(connection)
        let environment = ExportedInterface.Member.property(SystemdManager.environment) { [entries] in
            entries.withLock { $0 }
        }
        let interface = ExportedInterface(SystemdManager.environment.interface, [environment] + services.members)
        await connection.export([interface], at: SystemdManager.object.path)
        let name = SystemdManager.name
        try #require(try await connection.requestName(name) == .owned)
    }

    /// Ends the manager. The bus knows of the end when the method returns, and not only some time after the socket is closed.
    func end() async throws {
        try await connection.releaseName(SystemdManager.name)
        await connection.close()
    }

    func set(_ entries: [String]) {
        self.entries.withLock { $0 = entries }
    }
}
