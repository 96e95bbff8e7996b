import Foundation
import MQTT
import Reactor
import TestSupport
import Testing

/// The configuration and the rules for the broker in `Packaging/bridge`, with a real mosquitto.
@Suite(.timeLimit(.minutes(5))) struct BrokerRulesTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private var place: URL { URL(filePath: directory.path) }

    private func options(_ name: String, _ broker: TestBroker, client: String? = nil) throws -> MQTTOptions {
        var options = MQTTOptions(client: client ?? name, host: "127.0.0.1", port: broker.port)
        options.certificates = try broker.makeCertificate(name)
        return options
    }

    private func client(_ name: String, _ broker: TestBroker, on loop: EventLoop) async throws -> TestClient {
        let options = try options(name, broker)
        // The broker may still be starting.
        var client = TestClient(options, on: loop)
        try await eventually(await client.connect()) { failure in
            if failure != nil { client = TestClient(options, on: loop) }
            return failure == nil
        }
        return client
    }

    @Test func noClientSpeaksForAnother() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let broker = try await TestBroker(in: place)
        defer { broker.stop() }
        let victim = try await client("victim", broker, on: loop)
        let mallory = try await client("mallory", broker, on: loop)
        await victim.subscribe(to: "openurl/1/victim/open/from/+", "openurl/1/victim/outcome/from/+")
        // The victim is subscribed as soon as it gets its own message.
        await victim.publish([1], to: "openurl/1/victim/open/from/victim")
        try await eventually(victim.messages.count) { $0 == 1 }
        await mallory.publish([2], to: "openurl/1/victim/open/from/alice")
        await mallory.publish([3], to: "openurl/1/victim/outcome/from/alice")
        await mallory.publish([4], to: "openurl/1/victim/presence", isRetained: true)
        await mallory.publish([5], to: "openurl/1/victim/open/from/mallory")
        // The client learns what the broker does not take.
        try await eventually(mallory.answered) { $0 == 4 }
        #expect(mallory.refusals == ["Not authorized", "Not authorized", "Not authorized"])
        // A broker keeps the order of one client's messages, so the others would have arrived before.
        try await eventually(victim.messages.count) { $0 > 1 }
        #expect(victim.messages.map(\.payload) == [[1], [5]])
        await victim.close()
        await mallory.close()
    }

    /// Hundreds of hosts may appear while a host that has sent them requests is away.
    @Test func presenceTakesNoRoomFromOutcomes() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let broker = try await TestBroker(in: place)
        defer { broker.stop() }
        let near = try await client("near", broker, on: loop)
        await near.subscribe(to: "openurl/1/near/outcome/from/+")
        await near.subscribe(to: "openurl/1/far/presence", isQueued: false)
        await near.publish([0], to: "openurl/1/near/presence")
        try await eventually(near.answered) { $0 == 1 }
        await near.close()
        let far = try await client("far", broker, on: loop)
        // The broker keeps a thousand messages for a client.
        let count = 1200
        for _ in 0..<count { await far.publish([1], to: "openurl/1/far/presence", isRetained: true) }
        await far.publish([2], to: "openurl/1/near/outcome/from/far")
        try await eventually(far.answered) { $0 == count + 1 }
        let again = try await client("near", broker, on: loop)
        try await eventually(again.messages.count) { $0 > 0 }
        #expect(again.messages.map(\.payload) == [[2]])
        await again.close()
        await far.close()
    }

    @Test func subscriptionEnds() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let broker = try await TestBroker(in: place)
        defer { broker.stop() }
        let near = try await client("near", broker, on: loop)
        await near.subscribe(to: "openurl/1/far/presence", "openurl/1/near/presence")
        await near.publish([1], to: "openurl/1/near/presence")
        try await eventually(near.messages.count) { $0 == 1 }
        await near.unsubscribe(from: "openurl/1/far/presence")
        // A broker keeps the order of one client's packets.
        await near.publish([2], to: "openurl/1/near/presence")
        try await eventually(near.messages.count) { $0 == 2 }
        let far = try await client("far", broker, on: loop)
        await far.publish([3], to: "openurl/1/far/presence")
        try await eventually(far.answered) { $0 == 1 }
        await near.publish([4], to: "openurl/1/near/presence")
        try await eventually(near.messages.map(\.payload)) { $0.contains([4]) }
        #expect(near.messages.map(\.payload) == [[1], [2], [4]])
        await near.close()
        await far.close()
    }

    /// A packet is refused here, and not by the broker, which would end the connection.
    @Test func messageThatIsTooLargeForTheBrokerIsNotSent() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let broker = try await TestBroker(in: place, largestPacket: 10_000)
        defer { broker.stop() }
        let near = try await client("near", broker, on: loop)
        let topic = "openurl/1/far/open/from/near"
        var sizes = 0
        for size in 9_900...10_010 {
            do throws(PublishError) {
                _ = try await near.tryToPublish([UInt8](repeating: 0, count: size), to: topic)
                sizes += 1
            } catch {
                #expect(error == .tooLarge(limit: 10_000))
            }
        }
        try await eventually((near.answered, near.end)) { $0.0 == sizes || $0.1 != nil }
        #expect(near.end == nil && (1...100).contains(sizes))
        await near.close()
    }

    @Test func noClientReadsWhatIsForAnother() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let broker = try await TestBroker(in: place)
        defer { broker.stop() }
        let alice = try await client("alice", broker, on: loop)
        let mallory = try await client("mallory", broker, on: loop)
        await mallory.subscribe(
            to: "#",
            "openurl/1/+/open/from/+",
            "openurl/1/victim/open/from/+",
            "openurl/1/+/presence"
        )
        await mallory.publish([1], to: "openurl/1/mallory/presence")
        try await eventually(mallory.messages.count) { $0 >= 1 }
        await alice.publish([2], to: "openurl/1/victim/open/from/alice")
        await alice.publish([3], to: "openurl/1/@group/open/from/alice")
        await alice.publish([4], to: "openurl/1/alice/presence")
        try await eventually(mallory.messages.map(\.payload)) { $0.contains([4]) }
        #expect(Set(mallory.messages.map(\.topic)) == ["openurl/1/mallory/presence", "openurl/1/alice/presence"])
        await alice.close()
        await mallory.close()
    }

    /// Otherwise, a client could take the session of another one, with all that waits in it.
    @Test func noClientTakesTheSessionOfAnother() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let broker = try await TestBroker(in: place)
        defer { broker.stop() }
        let victim = try await client("victim", broker, on: loop)
        await victim.subscribe(to: "openurl/1/victim/open/from/+")
        let mallory = TestClient(try options("mallory", broker, client: "victim"), on: loop)
        #expect(try await mallory.connect() == nil)
        await mallory.publish([1], to: "openurl/1/victim/open/from/mallory")
        try await eventually(victim.messages.count) { $0 == 1 }
        #expect(victim.isConnected && mallory.messages.isEmpty)
        await victim.close()
        await mallory.close()
    }

    @Test func clientNeedsACertificateOfTheAuthority() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let broker = try await TestBroker(in: place)
        defer { broker.stop() }
        let known = try await client("known", broker, on: loop)
        await known.close()
        let other = try await TestBroker(in: place.appending(path: "other"))
        defer { other.stop() }
        var options = try options("known", broker)
        options.certificates = try other.makeCertificate("known")
        options.certificates?.authorities = broker.file("ca.crt").path
        #expect(try await TestClient(options, on: loop).connect() != nil)
        // Nor does a client take a broker that its authority does not vouch for.
        options.certificates = try broker.makeCertificate("known")
        options.certificates?.authorities = other.file("ca.crt").path
        #expect(try await TestClient(options, on: loop).connect() != nil)
        options.certificates = nil
        #expect(try await TestClient(options, on: loop).connect() != nil)
    }

    @Test func expiredMessageIsNotDelivered() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let broker = try await TestBroker(in: place)
        defer { broker.stop() }
        let victim = try await client("victim", broker, on: loop)
        await victim.subscribe(to: "openurl/1/victim/open/from/+")
        await victim.publish([0], to: "openurl/1/victim/open/from/victim")
        try await eventually(victim.messages.count) { $0 == 1 }
        // The session stays.
        await victim.close()
        let sender = try await client("sender", broker, on: loop)
        await sender.publish([1], to: "openurl/1/victim/open/from/sender", expiry: .seconds(1))
        await sender.publish([2], to: "openurl/1/victim/open/from/sender", expiry: .seconds(600))
        try await eventually(sender.answered) { $0 == 2 }
        // The broker counts whole seconds, and announces the end of none.
        let hasExpired = ContinuousClock.now + .seconds(3)
        try await eventually(ContinuousClock.now) { $0 >= hasExpired }
        let again = try await client("victim", broker, on: loop)
        try await eventually(again.messages.count) { $0 >= 1 }
        #expect(again.messages.map(\.payload) == [[2]])
        #expect(again.messages.first?.expiry.map { $0 < .seconds(600) && $0 > .seconds(500) } == true)
        await again.close()
        await sender.close()
    }
}
