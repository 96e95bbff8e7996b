import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Programs that take the names of the session's services, and deceive the router there. They succeed only outside of a sandbox.
@Suite(.timeLimit(.minutes(10))) struct ConfinedServiceTests {
    private static let app = "com.example.app"

    /// A program with the name of a service.
    private struct Service {
        let name: BusName
        let router: RouterProcess
        let calls: URL

        init(_ name: BusName, isConfined: Bool, on router: RouterProcess) async throws {
            self.name = name
            self.router = router
            calls = router.bus.directory.appending(path: "calls")
            try Data().write(to: calls)
            let process = ChildProcess()
            process.executableURL = URL(filePath: "/usr/bin/env")
            // The program ends with the bus.
            process.arguments =
                (isConfined ? ["bwrap", "--unshare-user", "--dev-bind", "/", "/"] : [])
                + ["/usr/bin/python3", ScriptHandler.path(of: "deceiving_service"), name.rawValue, calls.path]
            process.environment = router.bus.environment
            process.standardError = FileHandle.nullDevice
            try await RouterProcess.waitForOwner(of: name, on: router.connection) { try process.run() }
        }

        /// The members that were called.
        func called() throws -> [String] {
            try String(contentsOf: calls, encoding: .utf8).split(separator: "\n").map(String.init)
        }

        /// Checks that the router has called the program, or that it has not, and has said so once.
        func check(isConfined: Bool) async throws {
            #expect(try called().isEmpty == isConfined)
            let log = router.bus.directory.appending(path: "openurld.log")
            let warning = "\(name) belongs to a program that may be in a sandbox ("
            func warnings() throws -> Int {
                try String(contentsOf: log, encoding: .utf8).split(separator: "\n").count { $0.contains(warning) }
            }
            if isConfined { try await eventually(try warnings()) { $0 > 0 } }
            #expect(try warnings() == (isConfined ? 1 : 0))
        }
    }

    @Test(arguments: [true, false]) func managerGivesHandlersTheirVariables(isConfined: Bool) async throws {
        let router = try await RouterProcess([Self.app: [], "com.example.second": []])
        defer { router.stop() }
        // By now, the router knows that the session has no manager.
        #expect(try await router.open("second:1").handler == "com.example.second")
        let service = try await Service("org.freedesktop.systemd1", isConfined: isConfined, on: router)
        if isConfined {
            #expect(try await router.open("app:1").handler == Self.app)
            let pid = try #require(try await router.status(of: Self.app).pid)
            let variables = try #require(FileManager.default.contents(atPath: "/proc/\(pid)/environ"))
            #expect(!variables.split(separator: 0).contains { $0.elementsEqual("MARK=deceived".utf8) })
        } else {
            #expect(try await router.failure("app:1").message.contains("systemd did not start it: "))
        }
        try await service.check(isConfined: isConfined)
    }

    @Test(arguments: [true, false]) func notificationAnswersTheQuestion(isConfined: Bool) async throws {
        let router = try await RouterProcess { directory in
            try RouterProcess.write(Self.app, [], in: directory, extra: ["OUAsk": true])
        }
        defer { router.stop() }
        let service = try await Service("org.freedesktop.Notifications", isConfined: isConfined, on: router)
        if isConfined {
            let reason = "there is no desktop or terminal on which to ask whether to open it"
            #expect(try await router.failure("app:1").message.hasPrefix(reason))
        } else {
            #expect(try await router.open("app:1").handler == Self.app)
        }
        try await check(answersOf: router, areStored: !isConfined)
        try await service.check(isConfined: isConfined)
    }

    @Test(arguments: [true, false]) func portalAnswersTheQuestion(isConfined: Bool) async throws {
        // The display does not exist, and the program that asks next answers no.
        let wrapper = ["/bin/sh", "-c", "DISPLAY=:nowhere PATH=$HOME/programs:$PATH exec \"$0\""]
        let router = try await RouterProcess(wrapper: wrapper) { directory in
            try RouterProcess.write(Self.app, [], in: directory, extra: ["OUAsk": true])
            let programs = directory.appending(path: "programs")
            try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
            try writeProgram("#!/bin/sh\nexit 1\n", to: programs.appending(path: "zenity").path)
        }
        defer { router.stop() }
        let name: BusName = "org.freedesktop.impl.portal.desktop.gtk"
        let service = try await Service(name, isConfined: isConfined, on: router)
        if isConfined {
            let answer = "the user was asked whether to open it, and answered no"
            #expect(try await router.failure("app:1").message == answer)
        } else {
            #expect(try await router.open("app:1").handler == Self.app)
        }
        try await check(answersOf: router, areStored: !isConfined)
        try await service.check(isConfined: isConfined)
    }

    @Test(arguments: [true, false]) func bridgeTakesURLsAndGivesOutcomes(isConfined: Bool) async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let service = try await Service("org.openurl.Bridge1", isConfined: isConfined, on: router)
        try await router.connection.call(HostsInterface.add, on: RouterService.object, Arguments("kiosk", "bridge:"))
        var options = OpenOptions()
        options.host = HostName(rawValue: "kiosk")
        let id = try #require(try await router.open("app:1", options).id)
        if isConfined {
            try await eventually(await router.queuedURLs().first?.error?.message) {
                $0?.contains("no program is the bridge; ") == true
            }
        } else {
            let outcome = try await router.connection.call(
                QueueInterface.wait,
                on: RouterService.object,
                id,
                timeout: .seconds(120)
            )
            #expect(outcome.handler == "com.example.far")
        }
        try await service.check(isConfined: isConfined)
    }

    private func check(answersOf router: RouterProcess, areStored: Bool) async throws {
        let answers = try await router.connection.call(PolicyInterface.answers, on: RouterService.object, Empty())
        #expect(answers.isEmpty == !areStored)
    }
}
