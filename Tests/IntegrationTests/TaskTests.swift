import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import Reactor
import TestSupport
import Testing

/// Tasks in the background, with real processes.
@Suite(.timeLimit(.minutes(10))) struct TaskTests {
    private static let app = "com.example.app"
    private static let hour: UInt64 = 3_600_000

    private func schedule(
        _ router: RouterProcess,
        _ name: String,
        of id: String = app,
        _ change: (inout TaskOptions) -> Void = { _ in }
    ) async throws {
        var options = TaskOptions()
        change(&options)
        _ = try await router.connection.call(
            TasksInterface.schedule,
            on: RouterService.object,
            Arguments(id, name, options)
        )
    }

    private func tasks(_ router: RouterProcess) async throws -> [ScheduledTask] {
        try await router.connection.call(TasksInterface.list, on: RouterService.object, Empty())
    }

    private func run(_ router: RouterProcess, _ name: String) async throws -> Reported<TaskResult> {
        let input = Arguments(Self.app, name)
        return try await router.connection.call(
            TasksInterface.run,
            on: RouterService.object,
            input,
            timeout: .seconds(60)
        )
    }

    /// Writes the handler's manifest to a place where the router does not look.
    private func writeElsewhere(in directory: URL) throws {
        try RouterProcess.write(Self.app, [], in: directory)
        let name = "\(Self.app).plist"
        try FileManager.default.moveItem(
            at: directory.appending(path: "XDG_DATA_HOME/openurl/handlers/\(name)"),
            to: directory.appending(path: name)
        )
    }

    // MARK: Runs

    @Test func taskLaunchesAHandlerIntoTheBackground() async throws {
        let router = try await RouterProcess([Self.app: ["reasons"]])
        defer { router.stop() }
        try await schedule(router, "sync")
        try await eventually(router.log(of: Self.app)) { $0.last == "didEnterBackground" }
        #expect(
            try router.log(of: Self.app).dropFirst() == [
                "reason task", "willFinishLaunching", "didFinishLaunching", "task sync", "didEnterBackground",
            ]
        )
        try await eventually(await tasks(router)) { $0.isEmpty }
    }

    @Test func taskReachesARunningHandler() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        _ = try await router.open("app:x")
        try await schedule(router, "sync")
        try await eventually(router.log(of: Self.app)) { $0.last == "task sync" }
        #expect(try await router.status(of: Self.app).state == .known(.active))
    }

    @Test func taskWakesASuspendedHandler() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        try await router.lifecycle(LifecycleInterface.wake, Self.app)
        try await router.lifecycle(LifecycleInterface.suspend, Self.app)
        try await schedule(router, "sync")
        try await eventually(router.log(of: Self.app)) { $0.last == "task sync" }
    }

    @Test func handlerInAnotherLanguageSchedulesAndPerformsTasks() async throws {
        let router = try await RouterProcess { directory in
            let notes = directory.appending(path: "notes").path
            try ScriptHandler.write(Self.app, "tasks_handler", [notes], in: directory)
        }
        defer { router.stop() }
        for name in ["new-data", "failed"] { _ = try await router.open("app://\(name)") }
        let notes = router.bus.directory.appending(path: "notes")
        try await eventually(try? String(contentsOf: notes, encoding: .utf8)) {
            $0?.split(separator: "\n").sorted() == ["task failed", "task new-data"]
        }
        let left = try await eventually(await tasks(router)) { $0.count == 1 && $0[0].failures == 1 }
        #expect(left.first?.name == "failed")
    }

    @Test func answerWithoutAValueMeansThatTheTaskIsDone() async throws {
        let router = try await RouterProcess { directory in
            let notes = directory.appending(path: "notes").path
            try ScriptHandler.write(Self.app, "woken_handler", [notes], in: directory)
        }
        defer { router.stop() }
        try await schedule(router, "sync") { $0.delay = Self.hour }
        #expect(try await run(router, "sync") == .known(.newData))
        #expect(try await tasks(router).isEmpty)
    }

    @Test func errorOfTheDelegateIsKeptWithTheTask() async throws {
        let router = try await RouterProcess([Self.app: ["task-result=no network"]])
        defer { router.stop() }
        try await schedule(router, "sync") { $0.interval = Self.hour }
        let error = try await #require(throws: CallError.self) { try await run(router, "sync") }
        #expect("\(error)".contains("no network"), "\(error)")
        let task = try #require(try await tasks(router).first)
        #expect(task.failures == 1)
        #expect(task.error?.message.contains("no network") == true)
    }

    @Test func crashOfTheHandlerIsAFailure() async throws {
        let router = try await RouterProcess { directory in
            let fault = directory.appending(path: "fault")
            try Data("task sync".utf8).write(to: fault)
            try RouterProcess.write(Self.app, ["crash-in=\(fault.path)"], in: directory)
        }
        defer { router.stop() }
        try await schedule(router, "sync")
        let task = try await eventually(await tasks(router).first) { $0?.failures == 1 }
        #expect(task?.error?.name == OpenURLError.Code.handlerCrashed.errorName, "\(task!)")
    }

    // MARK: Durability

    @Test(arguments: [true, false]) func tasksSurviveTheRouter(isKilled: Bool) async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        try await schedule(router, "later") { $0.delay = Self.hour }
        try await schedule(router, "soon") { $0.requirements = [.idle, .network] }
        let before = try await tasks(router).filter { $0.name == "later" }
        if isKilled { try await router.kill() } else { #expect(await router.terminate() == 0) }
        try await router.startNext()
        try await eventually(await tasks(router)) { $0 == before }
        try await eventually(router.log(of: Self.app)) { $0.contains("task soon") }
    }

    @Test func nextRouterRunsATaskThatHasNoAnswer() async throws {
        let router = try await RouterProcess([Self.app: ["faults"]]) { directory in
            // The first process hangs in the task.
            try Data("task sync".utf8).write(to: directory.appending(path: "\(Self.app).log.fault"))
        }
        defer { router.stop() }
        try await schedule(router, "sync")
        try await eventually(router.log(of: Self.app)) { $0.contains { $0.hasPrefix("sick ") } }
        let pid = try #require(try await router.status(of: Self.app).pid)
        try await router.kill()
        #expect(kill(pid_t(pid), SIGKILL) == 0)
        try await router.startNext()
        try await eventually(router.log(of: Self.app)) { $0.count { $0 == "task sync" } == 2 }
        try await eventually(await tasks(router)) { $0.isEmpty }
    }

    @Test func tasksEndWhenTheHandlerIsUnregistered() async throws {
        let router = try await RouterProcess(["com.example.other": []], prepare: writeElsewhere)
        defer { router.stop() }
        let path = router.bus.directory.appending(path: "\(Self.app).plist").path
        _ = try await router.connection.call(RegistryInterface.register, on: RouterService.object, path)
        for id in [Self.app, "com.example.other"] {
            try await schedule(router, "sync", of: id) { $0.delay = Self.hour }
        }
        _ = try await router.connection.call(RegistryInterface.unregister, on: RouterService.object, Self.app)
        #expect(try await tasks(router).map(\.handler) == ["com.example.other"])
    }

    // MARK: The library

    @Test func handlerSchedulesAtEachLaunch() async throws {
        let router = try await RouterProcess([Self.app: ["hourly=sync"]])
        defer { router.stop() }
        _ = try await router.open("app:x")
        let first = try await tasks(router)
        #expect(first.map(\.interval) == [Self.hour])
        try await router.lifecycle(LifecycleInterface.terminate, Self.app)
        _ = try await router.open("app:x")
        #expect(try await tasks(router) == first)
    }

    @Test func fetchNeedsItsMode() async throws {
        let router = try await RouterProcess([Self.app: ["fetches"]]) { directory in
            let keys: [String: Any] = ["UIBackgroundModes": ["fetch"]]
            let arguments = ["fetches", "task-result=no-data"]
            try RouterProcess.write("com.example.other", arguments, in: directory, extra: keys)
        }
        defer { router.stop() }
        _ = try await router.open("app:x")
        #expect(
            try router.log(of: Self.app).contains(
                "not scheduled: com.example.app needs 'fetch' in UIBackgroundModes for a task with this name"
            )
        )
        _ = try await router.open("other:x")
        let fetch = try #require(try await tasks(router).first)
        #expect(fetch.name == "fetch")
        #expect(fetch.interval == 900_000)
        #expect(fetch.requirements == [.network])
        let run = try await router.openurl("tasks", "run", "com.example.other", "fetch")
        #expect(run.output == "no-data\n", "\(run)")
        #expect(try router.log(of: "com.example.other").last == "fetch")
        #expect(try await tasks(router).first?.stretchedInterval == 1_350_000)
    }

    // MARK: Conditions

    /// A system bus of the test's own, on which the test's connection is UPower and logind.
    private struct Services {
        static let session: ObjectPath = "/org/freedesktop/login1/session/_31"
        let bus: PrivateBus
        let connection: Connection
        private let isOnBattery: Lock<Bool>
        private let isIdle: Lock<Bool>

        init(isOnBattery: Bool, isIdle: Bool) async throws {
            bus = try await PrivateBus(isSecond: true)
            connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
            let (battery, idle) = (Lock(isOnBattery), Lock(isIdle))
            self.isOnBattery = battery
            self.isIdle = idle
            let power = ExportedInterface(
                "org.freedesktop.UPower",
                [.property(Property<Bool>("org.freedesktop.UPower", "OnBattery")) { battery.withLock(\.self) }]
            )
            await connection.export([power], at: "/org/freedesktop/UPower")
            let manager = ExportedInterface(
                "org.freedesktop.login1.Manager",
                [
                    .method(Method<String, ObjectPath>("org.freedesktop.login1.Manager", "GetSession")) { _, _ in
                        Self.session
                    }
                ]
            )
            await connection.export([manager], at: "/org/freedesktop/login1")
            let session = ExportedInterface(
                "org.freedesktop.login1.Session",
                [.property(Property<Bool>("org.freedesktop.login1.Session", "IdleHint")) { idle.withLock(\.self) }]
            )
            await connection.export([session], at: Self.session)
            for name in ["org.freedesktop.UPower", "org.freedesktop.login1"] as [BusName] {
                #expect(try await connection.requestName(name) == .owned)
            }
        }

        func setOnBattery(_ value: Bool) async throws {
            isOnBattery.withLock { $0 = value }
            try await report("/org/freedesktop/UPower", "org.freedesktop.UPower", "OnBattery", value)
        }

        func setIdle(_ value: Bool) async throws {
            isIdle.withLock { $0 = value }
            try await report(Self.session, "org.freedesktop.login1.Session", "IdleHint", value)
        }

        private func report(
            _ path: ObjectPath,
            _ interface: InterfaceName,
            _ property: String,
            _ value: Bool
        ) async throws {
            let body = Arguments(interface.rawValue, [property: Value.boolean(value)], [String]())
            try await connection.emit(PropertiesInterface.changed, from: path, body)
        }

        /// The rules of all connections that mention a text.
        func rules(with text: String) async throws -> [String] {
            let list = Method<Empty, [String: [String]]>("org.freedesktop.DBus.Debug.Stats", "GetAllMatchRules")
            let bus = RemoteObject("org.freedesktop.DBus", "/org/freedesktop/DBus")
            return try await connection.call(list, on: bus, Empty()).values.joined().filter { $0.contains(text) }
        }
    }

    private func router(on services: Services) async throws -> RouterProcess {
        try await RouterProcess([Self.app: []], variables: ["DBUS_SYSTEM_BUS_ADDRESS": services.bus.address])
    }

    private func waitUntilUnmet(_ conditions: [TaskRequirement], _ router: RouterProcess) async throws {
        try await eventually(await tasks(router)) {
            $0.first?.state == .known(.waiting) && $0.first?.unmet == conditions
        }
    }

    @Test func taskWaitsForItsConditions() async throws {
        let services = try await Services(isOnBattery: true, isIdle: false)
        defer { services.bus.stop() }
        let router = try await router(on: services)
        defer { router.stop() }
        try await schedule(router, "later") {
            $0.delay = Self.hour
            $0.requirements = [.externalPower]
        }
        #expect(try await services.rules(with: "UPower").isEmpty)
        _ = try await router.connection.call(TasksInterface.cancel, on: RouterService.object, Arguments(Self.app, ""))
        // There is no NetworkManager, so that condition is true.
        try await schedule(router, "sync") { $0.requirements = [.externalPower, .unmeteredNetwork, .idle] }
        try await waitUntilUnmet([.externalPower, .idle], router)
        try await services.setOnBattery(false)
        try await waitUntilUnmet([.idle], router)
        try await services.setIdle(true)
        try await eventually(router.log(of: Self.app)) { $0.contains("task sync") }
        try await eventually(await services.rules(with: "'/org/freedesktop/UPower'")) { $0.isEmpty }
        try await eventually(await services.rules(with: "'\(Services.session)'")) { $0.isEmpty }
    }

    @Test func taskWhoseConditionsAreTrueRunsAtOnce() async throws {
        let services = try await Services(isOnBattery: false, isIdle: true)
        defer { services.bus.stop() }
        let router = try await router(on: services)
        defer { router.stop() }
        try await schedule(router, "sync") { $0.requirements = TaskRequirement.allCases }
        try await eventually(router.log(of: Self.app)) { $0.contains("task sync") }
    }

    @Test func taskIsRunNowWithoutItsConditions() async throws {
        let services = try await Services(isOnBattery: true, isIdle: false)
        defer { services.bus.stop() }
        let router = try await router(on: services)
        defer { router.stop() }
        try await schedule(router, "sync") { $0.requirements = [.externalPower] }
        try await waitUntilUnmet([.externalPower], router)
        #expect(try await run(router, "sync") == .known(.newData))
        #expect(try await tasks(router).isEmpty)
    }

    // MARK: Callers

    @Test func handlerActsOnlyOnItsOwnTasks() async throws {
        let router = try await RouterProcess(["com.example.other": []]) { directory in
            let notes = directory.appending(path: "notes").path
            try ScriptHandler.write(Self.app, "tasks_handler", [notes], in: directory)
        }
        defer { router.stop() }
        try await schedule(router, "secret", of: "com.example.other") { $0.delay = Self.hour }
        let refused = try await router.open("app://other").reply
        #expect(refused["error"] == .string(OpenURLError.Code.notAllowed.errorName.rawValue))
        let reply = try await router.open("app://failed").reply
        #expect(reply["tasks"] == .array(["failed"], of: "s"))
    }

    @Test func unknownConditionIsRefused() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let method = Method<Arguments<String, String, [String: Value]>, Empty>(TasksInterface.name, "Schedule")
        let options: [String: Value] = ["requiring": .array(["sunshine"], of: "s")]
        let error = try await #require(throws: CallError.self) {
            try await router.connection.call(method, on: RouterService.object, Arguments(Self.app, "sync", options))
        }
        #expect("\(error)".contains("'sunshine' is not a condition"), "\(error)")
    }

    @Test(arguments: ["", String(repeating: "x", count: 129)]) func nameHasALimitedSize(name: String) async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let error = try await #require(throws: CallError.self) { try await schedule(router, name) }
        #expect("\(error)".contains("1 to 128 bytes"), "\(error)")
    }

    @Test func handlerThatIsRegisteredTemporarilyHasNoTasks() async throws {
        let router = try await RouterProcess(prepare: writeElsewhere)
        defer { router.stop() }
        let path = router.bus.directory.appending(path: "\(Self.app).plist").path
        _ = try await router.connection.call(RegistryInterface.registerTemporarily, on: RouterService.object, path)
        let error = try await #require(throws: CallError.self) { try await schedule(router, "sync") }
        #expect("\(error)".contains("registered only temporarily"), "\(error)")
    }

    @Test func commandListsRunsAndCancels() async throws {
        let router = try await RouterProcess([Self.app: ["task-result=failed"]])
        defer { router.stop() }
        #expect(try await router.openurl("tasks").errors == "")
        try await schedule(router, "sync") { $0.delay = Self.hour }
        try await schedule(router, "backup") { $0.delay = Self.hour }
        let run = try await router.openurl("tasks", "run", Self.app, "sync")
        #expect(run == CommandRun(status: 1, output: "failed\n", errors: ""))
        let list = try await router.openurl("tasks", Self.app)
        let lines = list.output.split(separator: "\n")
        #expect(lines.count == 2 && lines[1].hasPrefix("\(Self.app)\tsync\tscheduled\t"), "\(list)")
        #expect(try await router.openurl("tasks", "com.example.other").output == "")
        #expect(try await router.openurl("tasks", "cancel", Self.app, "sync").status == 0)
        #expect(try await tasks(router).map(\.name) == ["backup"])
        #expect(try await router.openurl("tasks", "cancel", "--all", Self.app).status == 0)
        #expect(try await tasks(router).isEmpty)
    }
}
