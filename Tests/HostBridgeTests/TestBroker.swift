import Foundation
import Glibc
import MQTT
import Reactor
import TestSupport
import Testing

/// A real mosquitto with the configuration and the rules of `Packaging/bridge`, at a port of the loopback device.
final class TestBroker {
    let directory: URL
    private(set) var port: UInt16 = 0
    private var process = ChildProcess()

    /// Why the broker did not start, in its own words.
    private struct StartError: Error, CustomStringConvertible {
        let description: String
    }

    private static let packaging = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Packaging/bridge").standardizedFileURL

    /// Starts a broker that knows its clients by their certificates, and returns when it listens.
    ///
    /// - Parameter largestPacket: maximum size of a packet that it takes, in bytes.
    init(in parent: URL, largestPacket: Int = 1_100_000) async throws {
        directory = parent.appending(path: "broker")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try Self.openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=authority",
            "-keyout",
            file("ca.key").path,
            "-out",
            file("ca.crt").path
        )
        try makeCertificate("broker", alternative: "IP:127.0.0.1")
        var text = try String(contentsOf: Self.packaging.appending(path: "mosquitto.conf"), encoding: .utf8)
        for (old, new) in [
            ("listener 8883", "listener PORT 127.0.0.1"), ("/etc/mosquitto/certs", directory.path),
            ("/etc/mosquitto/openurl.acl", file("acl").path),
            ("max_packet_size 1100000", "max_packet_size \(largestPacket)"),
            ("#persistence_location /var/lib/mosquitto/", "persistence_location \(directory.path)/"),
        ] {
            try #require(text.contains(old))
            text = text.replacing(old, with: new)
        }
        // As root, it would give up its rights, and with them its files.
        if getuid() == 0 { text += "user root\n" }
        try Data(contentsOf: Self.packaging.appending(path: "acl")).write(to: file("acl"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file("acl").path)
        var isListening = false
        // Another program may take a free port before the broker does.
        for _ in 1...5 where !isListening {
            port = try Self.freePort()
            try Data(text.replacing("PORT", with: "\(port)").utf8).write(to: file("conf"))
            isListening = try await isStarted()
        }
        guard isListening else { throw StartError(description: try log()) }
    }

    /// Starts the broker, again after ``kill()``, and returns when it listens.
    func start() async throws {
        guard try await isStarted() else { throw StartError(description: try log()) }
    }

    private func log() throws -> String { try String(contentsOf: file("log"), encoding: .utf8) }

    /// Starts the broker, and returns whether it listens. Otherwise, it has exited, and its log says why.
    private func isStarted() async throws -> Bool {
        process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "timeout", "--signal=KILL", "300", "setpriv", "--pdeathsig", "KILL", "mosquitto", "-c", file("conf").path,
        ]
        try #require(FileManager.default.createFile(atPath: file("log").path, contents: nil))
        let errors = try FileHandle(forWritingTo: file("log"))
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        try errors.close()
        let listens = " running\n"
        return try await eventually((process.isRunning, log())) { !$0.0 || $0.1.contains(listens) }.1.contains(listens)
    }

    /// Ends the broker, and removes what it has kept.
    func kill() async {
        await withCheckedContinuation { continuation in
            process.terminationHandler = { _ in continuation.resume() }
            stop()
        }
        unlink(file("mosquitto.db").path)
    }

    /// Adds lines to the rules, which the broker reads when it is started.
    func addRule(_ lines: String) async throws {
        let rules = try String(contentsOf: file("acl"), encoding: .utf8)
        try Data("\(rules)\n\(lines)".utf8).write(to: file("acl"))
        await kill()
        try await start()
    }

    func file(_ name: String) -> URL { directory.appending(path: name) }

    /// Ends the broker at once, as a crash does. The first program has made a group of its own for the two.
    func stop() {
        // Before the start, the number would stand for this process's own group; after the end, for another process.
        guard process.isRunning else { return }
        let pid = process.processIdentifier
        if Glibc.kill(-pid, SIGKILL) != 0 { Glibc.kill(pid, SIGKILL) }
    }

    private static func freePort() throws -> UInt16 {
        let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        try #require(socket >= 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> UInt16? in
                guard bind(socket, address, size) == 0, getsockname(socket, address, &size) == 0 else { return nil }
                return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_port.bigEndian }
            }
        }
        return try #require(port)
    }

    private static func openssl(_ arguments: String...) throws {
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "openssl \(arguments)")
    }

    /// Makes a certificate that the broker's authority has signed.
    @discardableResult
    func makeCertificate(_ name: String, alternative: String? = nil) throws -> MQTTOptions.Certificates {
        let request = file("\(name).csr").path
        try Self.openssl(
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-subj",
            "/CN=\(name)",
            "-keyout",
            file("\(name).key").path,
            "-out",
            request
        )
        try Data("subjectAltName=\(alternative ?? "DNS:\(name)")\n".utf8).write(to: file("\(name).ext"))
        try Self.openssl(
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            file("ca.crt").path,
            "-CAkey",
            file("ca.key").path,
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            file("\(name).ext").path,
            "-out",
            file("\(name).crt").path
        )
        return MQTTOptions.Certificates(
            authorities: file("ca.crt").path,
            certificate: file("\(name).crt").path,
            key: file("\(name).key").path
        )
    }
}

/// A client of the broker, for a test.
final class TestClient: @unchecked Sendable {
    /// What has happened to the client. The loop's thread writes, so the client may be shared.
    private struct State {
        var messages: [MQTTMessage] = []
        var isConnected = false
        var end: String?
        var answered = 0
        var refusals: [String] = []
    }

    private let state = Lock(State())
    private let client: MQTTClient
    private let loop: EventLoop

    init(_ options: MQTTOptions, on loop: EventLoop) {
        self.loop = loop
        var events = MQTTClient.Events()
        let state = state
        events.connected = { _ in state.withLock { $0.isConnected = true } }
        events.ended = { reason in state.withLock { ($0.end, $0.isConnected) = (reason, false) } }
        events.received = { message in state.withLock { $0.messages.append(message) } }
        events.published = { _, refusal in
            state.withLock { state in
                state.answered += 1
                if let refusal { state.refusals.append(refusal) }
            }
        }
        client = MQTTClient(options, on: loop, events)
    }

    var messages: [MQTTMessage] { state.withLock { $0.messages } }
    var isConnected: Bool { state.withLock { $0.isConnected } }
    var end: String? { state.withLock { $0.end } }
    var answered: Int { state.withLock { $0.answered } }
    /// Why the broker has refused publications.
    var refusals: [String] { state.withLock { $0.refusals } }

    /// Returns nil if the client is connected, or why it is not.
    func connect() async throws -> String? {
        let client = UncheckedClient(client)
        let failure = await loop.startTask { () -> String? in
            do throws(MQTTError) {
                try await client.value.connect()
                return nil
            } catch {
                return "\(error)"
            }
        }.value
        if let failure { return failure }
        try await eventually((isConnected, end)) { $0.0 || $0.1 != nil }
        return end
    }

    func subscribe(to filters: String..., isQueued: Bool = true) async {
        let client = UncheckedClient(client)
        await loop.run { client.value.subscribe(to: filters, isQueued: isQueued) }
    }

    func unsubscribe(from filter: String) async {
        let client = UncheckedClient(client)
        await loop.run { client.value.unsubscribe(from: filter) }
    }

    /// Publishes a message, and reports an issue if it cannot.
    func publish(
        _ payload: [UInt8],
        to topic: String,
        expiry: Duration? = nil,
        responseTopic: String? = nil,
        correlation: String? = nil,
        isRetained: Bool = false
    ) async {
        do throws(PublishError) {
            _ = try await tryToPublish(
                payload,
                to: topic,
                expiry: expiry,
                responseTopic: responseTopic,
                correlation: correlation,
                isRetained: isRetained
            )
        } catch {
            Issue.record(error)
        }
    }

    /// Publishes a message, and returns its number.
    func tryToPublish(
        _ payload: [UInt8],
        to topic: String,
        expiry: Duration? = nil,
        responseTopic: String? = nil,
        correlation: String? = nil,
        isRetained: Bool = false
    ) async throws(PublishError) -> Int32 {
        let client = UncheckedClient(client)
        return try await loop.run { () throws(PublishError) in
            try client.value.publish(
                payload,
                to: topic,
                expiry: expiry,
                responseTopic: responseTopic,
                correlation: correlation.map { Array($0.utf8) },
                isRetained: isRetained
            )
        }
    }

    func close() async {
        let client = UncheckedClient(client)
        await loop.run { client.value.close(publishesWill: false) }
    }
}

/// A client on its way to the loop's thread, where alone it is used.
private struct UncheckedClient: @unchecked Sendable {
    let value: MQTTClient

    init(_ value: MQTTClient) { self.value = value }
}
