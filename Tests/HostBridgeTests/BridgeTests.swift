import DBus
import Foundation
import Glibc
import MQTT
import OpenURLBus
import PrivateBus
import Reactor
import TestSupport
import Testing

/// Two routers and their bridges, with a real broker between them.
@Suite(.timeLimit(.minutes(5))) struct BridgeTests {
    private static let app = "com.example.app"
    /// A router with its bridge.
    private struct Host {
        let bus: PrivateBus
        let connection: Connection
        let programs: [ChildProcess]

        func stop() { bus.stop() }

        /// The URLs that the handler has had.
        func opened() throws -> [String] {
            let log = bus.directory.appending(path: "handler.log")
            guard FileManager.default.fileExists(atPath: log.path) else { return [] }
            return try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map(String.init)
                .filter { $0.hasPrefix("open ") }
        }

        func send(_ url: String, to host: String) async throws -> UInt64 {
            var options = OpenOptions()
            options.host = HostName(rawValue: host)
            let result = try await connection.call(
                RouterInterface.openURL,
                on: RouterService.object,
                SentURL(url, options)
            )
            return try #require(result.id.flatMap { UInt64($0) })
        }

        /// The lines of the bridge's log that contain a text.
        func bridgeReports(of text: String) throws -> [Substring] {
            try String(contentsOf: bus.directory.appending(path: "openurl-bridge.log"), encoding: .utf8)
                .split(separator: "\n").filter { $0.contains(text) }
        }

        /// The messages of the errors that URLs in the queue have.
        func problems() async throws(CallError) -> [String] {
            try await connection.call(QueueInterface.list, on: RouterService.object, "").compactMap(\.error?.message)
        }

        func outcome(of id: UInt64) async throws(CallError) -> OpenResult {
            try await connection.call(QueueInterface.wait, on: RouterService.object, "\(id)", timeout: .seconds(200))
        }
    }

    private static func product(_ name: String) -> URL {
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: name)
    }

    private func host(
        _ name: String,
        _ broker: TestBroker,
        isSecond: Bool,
        groups: [String] = [],
        certificate: String? = nil,
        handler arguments: [String] = []
    ) async throws -> Host {
        let certificates = try broker.makeCertificate(certificate ?? name)
        let bus = try await PrivateBus(isSecond: isSecond) { directory in
            let configuration = directory.appending(path: "XDG_CONFIG_HOME/openurl")
            let handlers = directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
            for folder in [configuration, handlers] {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            }
            let manifest: [String: Any] = [
                "CFBundleIdentifier": Self.app, "CFBundleExecutable": Self.product("testhandler").path,
                "OUArguments": [Self.app, directory.appending(path: "handler.log").path] + arguments,
                "CFBundleURLTypes": [["CFBundleURLSchemes": ["app"]]],
            ]
            try PropertyListSerialization.data(fromPropertyList: manifest, format: .xml, options: 0)
                .write(to: handlers.appending(path: "\(Self.app).plist"))
            try Data("allow app from host:near\n".utf8).write(to: configuration.appending(path: "policy.conf"))
            try Data("* bridge:\n".utf8).write(to: configuration.appending(path: "hosts.conf"))
            let lines = [
                "name \(name)", "broker 127.0.0.1 \(broker.port)", "ca \(certificates.authorities)",
                "certificate \(certificates.certificate)", "key \(certificates.key)",
            ]
            try Data((lines + groups.map { "group \($0)" }).map { "\($0)\n" }.joined().utf8)
                .write(to: configuration.appending(path: "bridge.conf"))
        }
        let connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        var programs: [ChildProcess] = []
        for (program, service) in [("openurld", RouterService.name), ("openurl-bridge", BridgeInterface.service)] {
            programs.append(try Self.start(program, on: bus))
            try await eventually(try await connection.owner(of: service)) { $0 != nil }
        }
        return Host(bus: bus, connection: connection, programs: programs)
    }

    /// Starts a program. A file with the program's name gets its reports.
    private static func start(_ program: String, on bus: PrivateBus) throws -> ChildProcess {
        let log = bus.directory.appending(path: "\(program).log")
        try Data().write(to: log)
        let errors = try FileHandle(forWritingTo: log)
        defer { errors.closeFile() }
        let process = ChildProcess()
        process.executableURL = product(program)
        process.environment = bus.environment
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        return process
    }

    @Test func urlIsOpenedOnceOnTheOtherHost() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await TestBroker(in: URL(filePath: directory.path))
        defer { broker.stop() }
        let far = try await host("far", broker, isSecond: false)
        defer { far.stop() }
        let near = try await host("near", broker, isSecond: true)
        defer { near.stop() }
        let first = try await near.outcome(of: near.send("app:1", to: "far"))
        #expect(first.handler == Self.app && first.reply["source-class"] == .string("remote"))
        // Everything that is on its way is lost.
        var ids: [UInt64] = []
        for number in 2...20 { ids.append(try await near.send("app:\(number)", to: "far")) }
        await broker.kill()
        try await broker.start()
        for id in ids { #expect(try await near.outcome(of: id).handler == Self.app) }
        #expect(Set(try far.opened()) == Set((1...20).map { "open app:\($0)" }))
        #expect(try far.opened().count == 20)
    }

    @Test func hostWithoutARuleIsRefused() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await TestBroker(in: URL(filePath: directory.path))
        defer { broker.stop() }
        let far = try await host("far", broker, isSecond: false)
        defer { far.stop() }
        let stranger = try await host("stranger", broker, isSecond: true)
        defer { stranger.stop() }
        let id = try await stranger.send("app:1", to: "far")
        do throws(CallError) {
            _ = try await stranger.outcome(of: id)
            Issue.record("the URL was opened")
        } catch {
            guard case .remote(let error) = error else { throw error }
            #expect(OpenURLError(error)?.code == .notAllowed)
        }
        #expect(try far.opened().isEmpty)
    }

    /// A broker may take less than a router does. Neither a URL nor a reply that is too large may hold up the others.
    @Test func largeMessagesHoldNothingUp() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await TestBroker(in: URL(filePath: directory.path), largestPacket: 20_000)
        defer { broker.stop() }
        let far = try await host("far", broker, isSecond: false, handler: ["long-reply=50000"])
        defer { far.stop() }
        let near = try await host("near", broker, isSecond: true)
        defer { near.stop() }
        let large = try await near.send("app:\(String(repeating: "x", count: 30_000))", to: "far")
        do throws(CallError) {
            _ = try await near.outcome(of: large)
            Issue.record("the URL was opened")
        } catch {
            guard case .remote(let error) = error else { throw error }
            #expect(OpenURLError(error)?.code == .limitsExceeded)
        }
        let result = try await near.outcome(of: near.send("app:small", to: "far"))
        #expect(result.handler == Self.app && result.reply.isEmpty)
        #expect(result.trace.map(\.name) == ["replyOmitted"])
        #expect(try far.opened() == ["open app:small"])
    }

    /// The broker's rules refuse everything from a bridge whose name is not the one in its certificate.
    @Test func refusalOfTheBrokerIsReported() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await TestBroker(in: URL(filePath: directory.path))
        defer { broker.stop() }
        let near = try await host("near", broker, isSecond: false, certificate: "other")
        defer { near.stop() }
        for number in 1...3 { _ = try await near.send("app:\(number)", to: "far") }
        let problems = try await eventually(try await near.problems()) { problems in
            problems.count == 3 && problems.allSatisfy { $0.contains("Not authorized") }
        }
        #expect(problems == [String](repeating: "far: the broker refuses the request: Not authorized", count: 3))
        #expect(try near.bridgeReports(of: "Not authorized").count == 1)
    }

    @Test func oneHostOfAGroupOpensTheURL() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await TestBroker(in: URL(filePath: directory.path))
        defer { broker.stop() }
        try await broker.addRule("user far\ntopic read openurl/1/@all/open/from/+\n")
        let far = try await host("far", broker, isSecond: false, groups: ["all"])
        defer { far.stop() }
        let near = try await host("near", broker, isSecond: true)
        defer { near.stop() }
        #expect(try await near.outcome(of: near.send("app:1", to: "@all")).handler == Self.app)
        #expect(try far.opened() == ["open app:1"])
    }

    /// The broker may choose a member that is off. It must have dropped the request before another member gets it.
    @Test func groupsRequestExpiresBeforeItIsPublishedAgain() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await TestBroker(in: URL(filePath: directory.path))
        defer { broker.stop() }
        try await broker.addRule("user far\ntopic read openurl/1/@all/open/from/+\n")
        let loop = try EventLoop()
        defer { loop.stop() }
        let far = try await client("far", broker, on: loop)
        await far.subscribe(to: "$share/all/openurl/1/@all/open/from/+", "openurl/1/far/presence")
        await far.publish([0], to: "openurl/1/far/presence")
        try await eventually(far.messages.count) { $0 == 1 }
        let near = try await host("near", broker, isSecond: false)
        defer { near.stop() }
        let id = try await near.send("app:1", to: "@all")
        try await eventually(far.messages.count) { $0 == 2 }
        let message = try #require(far.messages.last)
        let expiry = try #require(message.expiry)
        #expect(expiry > .seconds(400) && expiry <= .seconds(480))
        let request: HostRequest = try MessageArchive.body(from: message.payload, limit: 1 << 20)
        let lifetime = try #require(request.options.lifetime)
        #expect(lifetime > HostsInterface.longestLifetime - .seconds(300))
        // Any member may answer, so no other host may guess the name.
        let words = request.id.split(separator: ".")
        #expect(words.count == 5 && words[1] == "\(id)" && words[4].utf8.count == 16, "\(request.id)")
        await far.close()
    }

    private func client(_ name: String, _ broker: TestBroker, on loop: EventLoop) async throws -> TestClient {
        var options = MQTTOptions(client: name, host: "127.0.0.1", port: broker.port)
        options.certificates = try broker.makeCertificate(name)
        var client = TestClient(options, on: loop)
        // The broker may still be starting.
        try await eventually(await client.connect()) { failure in
            if failure != nil { client = TestClient(options, on: loop) }
            return failure == nil
        }
        return client
    }

    /// What a hostile host with a certificate of its own can send.
    @Test func messagesThatAreNoRequestsAreIgnored() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await TestBroker(in: URL(filePath: directory.path))
        defer { broker.stop() }
        let far = try await host("far", broker, isSecond: false)
        defer { far.stop() }
        let loop = try EventLoop()
        defer { loop.stop() }
        var options = MQTTOptions(client: "near", host: "127.0.0.1", port: broker.port)
        options.certificates = try broker.makeCertificate("near")
        let client = TestClient(options, on: loop)
        #expect(try await client.connect() == nil)
        await client.subscribe(to: "openurl/1/near/outcome/from/+", "openurl/1/+/presence")
        try await eventually(client.messages.count) { $0 >= 1 }
        let topic = "openurl/1/far/open/from/near"
        let answers = "openurl/1/near/outcome"
        func bytes(_ id: String, _ url: String) throws -> [UInt8] {
            try MessageArchive.bytes(of: HostRequest(id: id, url, OpenOptions()), limit: 1 << 20)
        }
        await client.publish([], to: topic, responseTopic: answers, correlation: "a")
        await client.publish([1, 2, 3], to: topic, responseTopic: answers, correlation: "a")
        await client.publish(try bytes("a", "app:1"), to: topic, responseTopic: answers, correlation: "b")
        await client.publish(try bytes("a", "app:2"), to: topic, responseTopic: "openurl/1/x/outcome", correlation: "a")
        await client.publish(try bytes("a", "app:3"), to: topic, correlation: "a")
        await client.publish(try bytes("", "app:4"), to: topic, responseTopic: answers, correlation: "")
        await client.publish(
            [UInt8](repeating: 0, count: 1 << 20),
            to: topic,
            responseTopic: answers,
            correlation: "a"
        )
        // A client with the name in capital letters is another one for the broker.
        options.client = "NEAR"
        options.certificates = try broker.makeCertificate("NEAR")
        let capital = TestClient(options, on: loop)
        #expect(try await capital.connect() == nil)
        await capital.publish(
            try bytes("b", "app:5"),
            to: "openurl/1/far/open/from/NEAR",
            responseTopic: answers,
            correlation: "b"
        )
        try await eventually(capital.answered) { $0 == 1 }
        await capital.close()
        // Each arrives twice and is opened once.
        for id in ["good", "good"] {
            await client.publish(try bytes(id, "app:good"), to: topic, responseTopic: answers, correlation: id)
        }
        try await eventually(client.messages.filter { $0.topic == "openurl/1/near/outcome/from/far" }) { $0.count == 2 }
        let outcomes = client.messages.filter { $0.topic == "openurl/1/near/outcome/from/far" }
        #expect(outcomes.allSatisfy { $0.correlation == Array("good".utf8) })
        #expect(try far.opened() == ["open app:good"])
        await client.close()
    }

    @Test func missingCertificateIsNamed() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        var options = MQTTOptions(client: "near", host: "127.0.0.1", port: 1)
        options.certificates = MQTTOptions.Certificates(
            authorities: "/etc/passwd",
            certificate: "/nonexistent/near.crt",
            key: "/nonexistent/near.key"
        )
        let reason = try await TestClient(options, on: loop).connect()
        #expect(reason == "/nonexistent/near.crt cannot be read: No such file or directory")
    }

    /// The first broker does not answer CONNECT, and the second one does not answer PINGREQ.
    @Test(arguments: [false, true])
    func bridgeLeavesABrokerThatHasGoneSilent(accepts: Bool) async throws {
        let broker = try await SilentBroker(on: try EventLoop(), accepts: accepts)
        defer { broker.stop() }
        let bus = try await Self.bus(with: broker)
        defer { bus.stop() }
        let bridge = try Self.start("openurl-bridge", on: bus)
        // It connects again after the silence.
        try await eventually((broker.connections, bridge.isRunning)) { $0.0 >= 2 || !$0.1 }
        #expect(bridge.isRunning)
    }

    /// A broker may take what a host publishes, and refuse what it subscribes to.
    @Test func refusalOfSubscriptionsIsReportedOnce() async throws {
        let broker = try await SilentBroker(on: try EventLoop(), accepts: true, refusals: 2)
        defer { broker.stop() }
        let bus = try await Self.bus(with: broker)
        defer { bus.stop() }
        let bridge = try Self.start("openurl-bridge", on: bus)
        let log = bus.directory.appending(path: "openurl-bridge.log")
        // The connection ends because of the silence, and each connection has reports of its own.
        let end = "the broker cannot be reached"
        let (text, isRunning) = try await eventually((String(contentsOf: log, encoding: .utf8), bridge.isRunning)) {
            $0.0.contains(end) || !$0.1
        }
        #expect(isRunning)
        let reports = text.split(separator: "\n").prefix { !$0.contains(end) }.filter { $0.contains("refuses") }
        #expect(reports.count == 1)
        let report = "the broker refuses the subscription to openurl/1/near/open/from/+: Not authorized"
        #expect(reports.first?.contains(report) == true)
    }

    /// A bus with a bridge's configuration for a broker.
    private static func bus(with broker: SilentBroker) async throws -> PrivateBus {
        try await PrivateBus { directory in
            let configuration = directory.appending(path: "XDG_CONFIG_HOME/openurl")
            try FileManager.default.createDirectory(at: configuration, withIntermediateDirectories: true)
            try Data("name near\nbroker 127.0.0.1 \(broker.port)\nkeepalive 5\n".utf8)
                .write(to: configuration.appending(path: "bridge.conf"))
        }
    }

    /// The broker keeps a session for days. Otherwise, the subscriptions of each bridge would add to those of earlier ones.
    @Test func subscriptionsOfAnEarlierBridgeEnd() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await TestBroker(in: URL(filePath: directory.path))
        defer { broker.stop() }
        let loop = try EventLoop()
        defer { loop.stop() }
        try await broker.addRule("user near\ntopic read openurl/1/@all/open/from/+\n")
        let earlier = try await client("near", broker, on: loop)
        await earlier.subscribe(
            to: "openurl/1/far/presence",
            "$share/all/openurl/1/@all/open/from/+",
            "openurl/1/near/presence"
        )
        await earlier.publish([0], to: "openurl/1/near/presence")
        try await eventually(earlier.messages.count) { $0 == 1 }
        await earlier.close()
        let near = try await host("near", broker, isSecond: false)
        defer { near.stop() }
        let far = try await client("far", broker, on: loop)
        await far.subscribe(to: "openurl/1/far/outcome/from/+")
        await far.publish([1], to: "openurl/1/far/presence")
        await far.publish([1], to: "openurl/1/@all/open/from/far")
        // The bridge has had the message before this one, and has an answer only after that.
        await far.publish(
            try MessageArchive.bytes(of: HostRequest(id: "a", "app:1", OpenOptions()), limit: 1 << 20),
            to: "openurl/1/near/open/from/far",
            responseTopic: "openurl/1/far/outcome",
            correlation: "a"
        )
        try await eventually(far.messages.count) { $0 == 1 }
        near.stop()
        try await eventually(near.programs[1].isRunning) { !$0 }
        await far.publish([2], to: "openurl/1/far/presence")
        await far.publish([2], to: "openurl/1/@all/open/from/far")
        await far.publish([3], to: "openurl/1/near/open/from/far")
        try await eventually(far.answered) { $0 == 6 }
        let later = try await client("near", broker, on: loop)
        try await eventually(later.messages.map(\.payload)) { $0.contains([3]) }
        #expect(later.messages.filter { $0.payload == [2] }.isEmpty)
        await later.close()
        await far.close()
    }

    @Test func onlyTheRouterSendsThroughTheBridge() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await TestBroker(in: URL(filePath: directory.path))
        defer { broker.stop() }
        let near = try await host("near", broker, isSecond: false)
        defer { near.stop() }
        let object = RemoteObject(BridgeInterface.service, BridgeInterface.path)
        let input = Arguments("far", HostRequest(id: "a", "app:1", OpenOptions()))
        let error = await #expect(throws: CallError.self) {
            try await near.connection.call(BridgeInterface.send, on: object, input)
        }
        if case .remote(let refusal) = error {
            // The router would take one of its own errors for an outcome.
            #expect(OpenURLError(refusal) == nil && refusal.message == "only the router may send through the bridge")
        } else {
            Issue.record("the bridge gave another answer")
        }
        // Nor is any program believed that says that a host has appeared.
        await #expect(throws: CallError.self) {
            try await near.connection.call(HostsInterface.appeared, on: RouterService.object, Arguments("far", []))
        }
    }
}
