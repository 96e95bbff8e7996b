import MQTT
import OpenURLBus
import Testing

@testable import HostBridge

/// The bridge's configuration and topics.
@Suite struct BridgeConfigurationTests {
    private static let certificates = "ca /c/ca.crt\ncertificate /c/me.crt\nkey /c/me.key\n"

    @Test func linesGiveTheConfiguration() throws {
        let text = """
            # mine
            name Kiosk-1
            broker broker.example 8883 # far away
            \(Self.certificates)group kiosks
            group all
            keepalive 20
            """
        let configuration = try BridgeConfiguration(text: text)
        #expect(configuration.name.rawValue == "kiosk-1")
        #expect(configuration.groups.map(\.rawValue) == ["@kiosks", "@all"])
        #expect(configuration.options.host == "broker.example" && configuration.options.port == 8883)
        #expect(configuration.options.client == "kiosk-1")
        #expect(configuration.options.certificates?.authorities == "/c/ca.crt")
        #expect(configuration.options.keepAlive == .seconds(20))
        #expect(configuration.options.will?.topic == "openurl/1/kiosk-1/presence")
    }

    @Test func linesMayEndWithACarriageReturn() throws {
        let configuration = try BridgeConfiguration(text: "# mine\r\nname a\r\nbroker localhost 1883\r\n")
        #expect(configuration.name.rawValue == "a" && configuration.options.port == 1883)
    }

    /// Without certificates, everybody on the way could speak for this host.
    @Test func brokerOnAnotherMachineNeedsCertificates() throws {
        #expect(throws: BridgeProblem.self) { try BridgeConfiguration(text: "name a\nbroker broker.example 1883\n") }
        let local = try BridgeConfiguration(text: "name a\nbroker 127.0.0.1 1883\n")
        #expect(local.options.certificates == nil && local.options.user?.name == "a")
    }

    @Test(arguments: [
        "", "name a\n", "broker localhost 1883\n", "name a b\nbroker localhost 1883\n",
        "name @a\nbroker localhost 1883\n",
        "name a\nbroker localhost\n", "name a\nbroker localhost x\n", "name a\nbroker localhost 70000\n",
        "name a\nname b\nbroker localhost 1883\n", "name a\nbroker localhost 1883\nunknown x\n",
        "name a\nbroker localhost 1883\nkeepalive 0\n", "name a\nbroker localhost 1883\ngroup a/b\n",
        "name a/+\nbroker localhost 1883\n",
    ])
    func textIsAProblem(_ text: String) {
        #expect(throws: BridgeProblem.self) { try BridgeConfiguration(text: text) }
    }

    private func host(_ name: String) throws -> HostName { try #require(HostName(rawValue: name)) }

    @Test func topicsAreReadAsTheyAreWritten() throws {
        let (a, b, group) = (try host("a"), try host("b"), try host("@g"))
        #expect(BridgeTopic(BridgeTopic.open(at: a, from: b)) == .open(at: a, from: b))
        #expect(BridgeTopic(BridgeTopic.open(at: group, from: b)) == .open(at: group, from: b))
        #expect(BridgeTopic(BridgeTopic.outcome(at: a, from: b)) == .outcome(at: a, from: b))
        #expect(BridgeTopic(BridgeTopic.presence(of: a)) == .presence(of: a))
        #expect(
            BridgeTopic.subscriptions(of: a, in: [group]) == [
                "openurl/1/a/open/from/+", "openurl/1/a/outcome/from/+", "$share/g/openurl/1/@g/open/from/+",
            ]
        )
    }

    @Test(arguments: [
        "", "openurl/1", "openurl/1/", "openurl/2/a/open/from/b", "openurl/1/a/open/from/", "openurl/1/a/open/from/@g",
        "openurl/1/a/open/b", "openurl/1/a/open/from/b/c", "openurl/1/@g/outcome/from/b", "openurl/1/a/close/from/b",
        "x/openurl/1/a/presence", "openurl/1/a/open/from/B", "openurl/1/A/open/from/b", "openurl/1/a/outcome/from/B",
        "openurl/1/A/presence",
    ])
    func topicIsUnknown(_ text: String) {
        #expect(BridgeTopic(text) == nil)
    }
}
