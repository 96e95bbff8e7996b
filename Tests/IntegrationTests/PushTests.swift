import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// Pushes, with a distributor that follows the specification of UnifiedPush.
@Suite(.timeLimit(.minutes(10))) struct PushTests {
    private static let app = "com.example.app"
    private static let distributor: BusName = "org.unifiedpush.Distributor.example"
    private static let server: InterfaceName = "com.example.Test"

    /// A router, and a distributor with its server.
    private final class Session: Sendable {
        let router: RouterProcess

        init(version: Int = 2, _ handlers: [String: [String]] = [:], prepare: (URL) throws -> Void = { _ in })
            async throws
        {
            router = try await RouterProcess(handlers, prepare: prepare)
            try await startDistributor(version: version)
        }

        func startDistributor(version: Int = 2) async throws {
            let process = ChildProcess()
            process.executableURL = URL(filePath: "/usr/bin/timeout")
            process.arguments = ["600", ScriptHandler.path(of: "distributor"), distributor.rawValue, "\(version)"]
            process.environment = router.bus.environment
            try await RouterProcess.waitForOwner(of: distributor, on: router.connection) { try process.run() }
        }

        /// Ends the distributor, which forgets its clients, and starts the next one.
        func restartDistributor() async throws {
            let pid = try await router.connection.credentials(of: distributor).pid
            kill(pid_t(try #require(pid)), SIGKILL)
            try await eventually(await router.connection.owner(of: distributor)) { $0 == nil }
            try await startDistributor()
        }

        private static let object = RemoteObject(PushTests.distributor, UnifiedPush.distributorPath)

        func register(_ id: String, _ change: (inout PushOptions) -> Void = { _ in }) async throws -> PushRegistration {
            var options = PushOptions()
            change(&options)
            return try await router.connection.call(
                PushInterface.register,
                on: RouterService.object,
                Arguments(id, options),
                timeout: .seconds(60)
            )
        }

        func unregister(_ id: String, _ instance: String = "") async throws {
            let input = Arguments(id, instance)
            _ = try await router.connection.call(PushInterface.unregister, on: RouterService.object, input)
        }

        var registrations: [PushRegistration] {
            get async throws {
                try await router.connection.call(PushInterface.list, on: RouterService.object, Empty())
            }
        }

        private func server<Input: MessageBody, Output: MessageBody & Sendable>(
            _ name: MemberName,
            _ input: Input
        ) async throws -> Output {
            let method = Method<Input, Output>(PushTests.server, name)
            return try await router.connection.call(method, on: Self.object, input, timeout: .seconds(60))
        }

        func push(_ text: String, to endpoint: String) async throws {
            let _: Empty = try await server("Push", Arguments(endpoint, text))
        }

        func move(_ old: String, to new: String) async throws {
            let _: Empty = try await server("Move", Arguments(old, new))
        }

        func end(_ endpoint: String) async throws { let _: Empty = try await server("End", endpoint) }

        var clients: [String] { get async throws { try await server("Clients", Empty()) } }

        var unacknowledged: UInt32 { get async throws { try await server("Unacknowledged", Empty()) } }

        func queued() async throws -> [QueuedURL] {
            try await router.connection.call(QueueInterface.list, on: RouterService.object, "")
        }

        func stop() { router.stop() }
    }

    private func pushes(_ session: Session, of id: String = app) throws -> [String] {
        try session.router.log(of: id).filter { $0.hasPrefix("push ") }
    }

    // MARK: Registrations

    @Test(arguments: [1, 2]) func handlerGetsAnEndpointAndKeepsIt(version: Int) async throws {
        let session = try await Session(version: version, [Self.app: []])
        defer { session.stop() }
        let first = try await session.register(Self.app) { $0.vapid = "key" }
        #expect(first.handler == Self.app)
        #expect(first.distributor == Self.distributor.rawValue)
        #expect(first.endpoint == "https://push.example/1")
        #expect(try await session.register(Self.app) { $0.vapid = "key" } == first)
        let second = try await session.register(Self.app) {
            $0.instance = "account"
            $0.description = "Mail"
        }
        #expect(second.endpoint == "https://push.example/2")
        #expect(try await session.registrations == [first, second])
        let key = version == 2 ? "key" : ""
        #expect(
            try await session.clients == ["org.openurl.Router1 Mail ", "org.openurl.Router1 com.example.app \(key)"]
        )
        try await session.unregister(Self.app)
        #expect(try await session.registrations == [second])
        #expect(try await session.clients == ["org.openurl.Router1 Mail "])
    }

    @Test(arguments: [1, 2]) func refusalOfTheDistributorIsAnError(version: Int) async throws {
        let session = try await Session(version: version, [Self.app: []])
        defer { session.stop() }
        let error = try await #require(throws: CallError.self) {
            try await session.register(Self.app) { $0.description = "refuse" }
        }
        #expect("\(error)".contains("refuses the registration: \(version == 1 ? "the server is away" : "NETWORK")"))
        #expect(try await session.registrations == [])
    }

    /// It gives the endpoint before its answer, and in version 1 it answers with the word of version 2.
    @Test(arguments: [1, 2]) func kdesDistributorIsUnderstood(version: Int) async throws {
        let session = try await Session(version: version, [Self.app: []])
        defer { session.stop() }
        for instance in ["", "a", "b"] {
            let registration = try await session.register(Self.app) {
                $0.instance = instance
                $0.description = "as KUnifiedPush"
            }
            #expect(registration.endpoint.hasPrefix("https://push.example/"))
        }
        // The handler is not launched to learn what the calls have returned.
        _ = try await session.router.open("app:x")
        #expect(try !session.router.log(of: Self.app).contains { $0.hasPrefix("notification ") })
    }

    @Test func changedKeyIsANewRegistration() async throws {
        let session = try await Session([Self.app: []])
        defer { session.stop() }
        for key in ["one", "two"] { _ = try await session.register(Self.app) { $0.vapid = key } }
        #expect(try await session.clients == ["org.openurl.Router1 com.example.app two"])
    }

    @Test func distributorThatHasLostItsClientsGetsThemAgain() async throws {
        let session = try await Session([Self.app: []])
        defer { session.stop() }
        _ = try await session.register(Self.app)
        try await session.restartDistributor()
        try await eventually(await session.clients) { $0 == ["org.openurl.Router1 com.example.app "] }
    }

    /// A distributor whose server is away has no endpoint for now.
    @Test func endpointCanBeMissing() async throws {
        let session = try await Session([Self.app: []])
        defer { session.stop() }
        let old = try await session.register(Self.app)
        try await session.move(old.endpoint, to: "")
        try await eventually(await session.registrations.map(\.endpoint)) { $0 == [""] }
        try await eventually(session.router.log(of: Self.app)) {
            $0.contains("notification org.openurl.Push1.Endpoint ")
        }
        try await session.move("", to: "https://push.example/new")
        try await eventually(await session.registrations.map(\.endpoint)) { $0 == ["https://push.example/new"] }
    }

    /// A distributor may write anything, even the token, which lets a program send pushes.
    @Test(arguments: [1, 2]) func textOfTheDistributorIsCutAndHasNoSecrets(version: Int) async throws {
        let session = try await Session(version: version, [Self.app: []])
        defer { session.stop() }
        let error = try await #require(throws: CallError.self) {
            try await session.register(Self.app) { $0.description = "betray" }
        }
        let text = "\(error)"
        #expect(text.contains("the token … is \\u{1B}[31mred\\nx"), "\(text)")
        #expect(text.firstMatch(of: /[0-9a-f]{40}/) == nil, "\(text)")
        #expect(text.utf8.count < 4400 && !text.unicodeScalars.contains { $0.value < 0x20 }, "\(text)")
    }

    @Test func withoutADistributorThereIsNoRegistration() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        for (name, reason) in [(nil, "there is no UnifiedPush distributor"), ("org.example.x", "starts with")] {
            var options = PushOptions()
            options.distributor = name
            let error = try await #require(throws: CallError.self) {
                try await router.connection.call(
                    PushInterface.register,
                    on: RouterService.object,
                    Arguments(Self.app, options)
                )
            }
            #expect("\(error)".contains(reason), "\(error)")
        }
    }

    @Test func registrationsAreLimited() async throws {
        let session = try await Session([Self.app: []])
        defer { session.stop() }
        for number in 0..<PushInterface.registrationsPerHandler {
            _ = try await session.register(Self.app) { $0.instance = "\(number)" }
        }
        let changes: [(inout PushOptions) -> Void] = [
            { $0.instance = "more" },
            { $0.instance = String(repeating: "x", count: 65) },
            { $0.description = String(repeating: "x", count: 101) },
        ]
        for change in changes {
            let error = try await #require(throws: CallError.self) { try await session.register(Self.app, change) }
            #expect("\(error)".contains("at most"), "\(error)")
        }
        #expect(try await session.registrations.count == PushInterface.registrationsPerHandler)
    }

    @Test func movedEndpointWakesTheHandler() async throws {
        let session = try await Session([Self.app: []])
        defer { session.stop() }
        let old = try await session.register(Self.app)
        try await session.move(old.endpoint, to: "https://push.example/new")
        try await eventually(session.router.log(of: Self.app)) { $0.last == "didEnterBackground" }
        #expect(try session.router.log(of: Self.app).contains("notification org.openurl.Push1.Endpoint "))
        #expect(try await session.registrations.map(\.endpoint) == ["https://push.example/new"])
        try await session.end("https://push.example/new")
        try await eventually(await session.registrations) { $0.isEmpty }
    }

    // MARK: Pushes

    @Test(arguments: [1, 2]) func pushLaunchesAHandlerIntoTheBackground(version: Int) async throws {
        let session = try await Session(version: version, [Self.app: ["reasons"]])
        defer { session.stop() }
        let endpoint = try await session.register(Self.app).endpoint
        try await session.push("hello", to: endpoint)
        try await eventually(session.router.log(of: Self.app)) { $0.last == "didEnterBackground" }
        #expect(
            try session.router.log(of: Self.app).dropFirst() == [
                "reason push", "willFinishLaunching", "didFinishLaunching", "push hello", "didEnterBackground",
            ]
        )
        #expect(try await session.unacknowledged == 0)
        try await eventually(await session.queued()) { $0.isEmpty }
    }

    @Test func pushReachesARunningHandler() async throws {
        let session = try await Session([Self.app: []])
        defer { session.stop() }
        let endpoint = try await session.register(Self.app).endpoint
        _ = try await session.router.open("app:x")
        try await session.push("hello", to: endpoint)
        try await eventually(pushes(session)) { $0 == ["push hello"] }
        #expect(try await session.router.status(of: Self.app).state == .known(.active))
    }

    @Test func pushReachesAHandlerInAnotherLanguage() async throws {
        let session = try await Session { directory in
            let notes = directory.appending(path: "notes").path
            try ScriptHandler.write(Self.app, "pushed_handler", [notes], in: directory)
        }
        defer { session.stop() }
        let endpoint = try await session.register(Self.app) { $0.instance = "account" }.endpoint
        try await session.push("hello", to: endpoint)
        let notes = session.router.bus.directory.appending(path: "notes")
        try await eventually(try? String(contentsOf: notes, encoding: .utf8)) {
            $0 == "push|account|message-hello|hello\n"
        }
    }

    @Test func refusedPushIsADeadLetter() async throws {
        let session = try await Session([Self.app: ["refuse-push=no room"]])
        defer { session.stop() }
        let endpoint = try await session.register(Self.app).endpoint
        try await session.push("hello", to: endpoint)
        let queued = try await eventually(await session.queued()) { $0.first?.state == .dead }
        #expect(queued.first?.url == "unifiedpush:")
        #expect(queued.first?.handler == Self.app)
        #expect(queued.first?.error?.message.contains("no room") == true, "\(queued)")
    }

    @Test func handlerWithoutTheMethodGetsNoPush() async throws {
        let session = try await Session { directory in
            try ScriptHandler.write(Self.app, "suspended_handler", ["keep"], in: directory)
        }
        defer { session.stop() }
        let endpoint = try await session.register(Self.app).endpoint
        try await session.push("hello", to: endpoint)
        let queued = try await eventually(await session.queued()) { $0.first?.state == .dead }
        #expect(queued.first?.error?.message.contains("does not implement org.openurl.Handler1.Wake") == true)
    }

    @Test func removedPushIsWithdrawn() async throws {
        let session = try await Session([Self.app: ["gate"]])
        defer { session.stop() }
        let endpoint = try await session.register(Self.app).endpoint
        try await session.push("hello", to: endpoint)
        let queued = try await eventually(await session.queued()) { $0.first?.state == .delivering }
        let id = try #require(queued.first?.id)
        _ = try await session.router.connection.call(QueueInterface.drop, on: RouterService.object, id)
        #expect(try await session.queued() == [])
        let gate = session.router.openGate(of: Self.app)
        defer { withExtendedLifetime(gate) {} }
        // Pushes keep their order, so this one would come second.
        try await session.push("again", to: endpoint)
        try await eventually(pushes(session)) { $0.last == "push again" }
        #expect(try pushes(session) == ["push again"])
    }

    @Test func manifestNamesAURLForPushes() async throws {
        let session = try await Session { directory in
            let keys: [String: Any] = ["OUPushURL": "app:sync", "OUAllowedSources": ["com.example.sender"]]
            try RouterProcess.write(Self.app, [], in: directory, extra: keys)
        }
        defer { session.stop() }
        let endpoint = try await session.register(Self.app).endpoint
        try await session.push("hello", to: endpoint)
        try await eventually(session.router.log(of: Self.app)) {
            $0.suffix(3) == ["open app:sync", "for push hello", "didEnterBackground"]
        }
    }

    @Test func pushOpensTheURLOfACommand() async throws {
        let session = try await Session { directory in
            let file = directory.appending(path: "opened").path
            let keys: [String: Any] = [
                "CFBundleIdentifier": Self.app, "OUCommand": ["sh", "-c", "echo \"$1\" >>'\(file)'", "sh", "%u"],
                "CFBundleURLTypes": [["CFBundleURLSchemes": ["app"]]], "OUPushURL": "app:sync",
            ]
            let handlers = directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
            try FileManager.default.createDirectory(at: handlers, withIntermediateDirectories: true)
            try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0)
                .write(to: handlers.appending(path: "\(Self.app).plist"))
        }
        defer { session.stop() }
        let endpoint = try await session.register(Self.app).endpoint
        try await session.push("hello", to: endpoint)
        let file = session.router.bus.directory.appending(path: "opened")
        try await eventually(try? String(contentsOf: file, encoding: .utf8)) { $0 == "app:sync\n" }
    }

    @Test func unknownTokenAndLargeMessageAreNotTaken() async throws {
        let session = try await Session([Self.app: []])
        defer { session.stop() }
        let endpoint = try await session.register(Self.app).endpoint
        let connector = RemoteObject(RouterService.name, UnifiedPush.connectorPath)
        let message = Value.array([.byte(1)], of: "y")
        let answer = try await session.router.connection.call(
            UnifiedPush.message,
            on: connector,
            ["token": "unknown", "message": message]
        )
        #expect(answer == [:])
        // The distributor sends it again and again, in vain.
        try await session.push(String(repeating: "x", count: 4097), to: endpoint)
        try await session.push("hello", to: endpoint)
        try await eventually(pushes(session)) { $0 == ["push hello"] }
        #expect(try await session.unacknowledged == 1)
    }

    /// The handlers are suspended, and the router is killed while pushes arrive.
    @Test func noPushIsLostWhenTheRouterIsKilled() async throws {
        let ids = (0..<6).map { "com.example.app\($0)" }
        let session = try await Session { directory in
            for id in ids { try RouterProcess.write(id, [], in: directory, extra: ["OUSuspendDelay": 0.05]) }
        }
        defer { session.stop() }
        var endpoints: [String] = []
        for id in ids {
            endpoints.append(try await session.register(id).endpoint)
            try await session.router.lifecycle(LifecycleInterface.wake, id)
        }
        var sent: [String: Set<String>] = [:]
        for round in 0..<10 {
            for (id, endpoint) in zip(ids, endpoints) {
                try await session.push("\(id)-\(round)", to: endpoint)
                sent[id, default: []].insert("push \(id)-\(round)")
            }
            if round == 3 || round == 6 { try await session.router.restart() }
        }
        for id in ids {
            try await eventually(Set(pushes(session, of: id))) { $0 == sent[id] }
        }
        #expect(try await session.unacknowledged == 0)
        #expect(try await session.registrations.count == ids.count)
    }
}
