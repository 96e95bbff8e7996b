import DBus
import Foundation
import OpenURLBus
import PrivateBus
import RFC1808
import Reactor
import TestSupport
import Testing

@testable import OpenURL

/// The choice between the lane and the bus. Each test has a process with an environment of its own.
@Suite(.timeLimit(.minutes(10))) struct WaysToRouterTests {
    @Test func laneIsTakenIfTheRouterListens() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let listener = try await session.listen()
            let client = try await OpenURLClient()
            #expect(try await client.open("app:1").handler == "lane")
            #expect(try await client.canOpen(GenericURL("app:2")))
            #expect(await client.routerWarning() == nil)
            #expect(session.urls == ["lane app:1"])
            await client.close()
            await listener.close()
        }
    }

    @Test func busIsTakenIfNothingListens() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let client = try await OpenURLClient()
            for number in 1...3 { #expect(try await client.open("app:\(number)").handler == "bus") }
            #expect(session.urls == ["bus app:1", "bus app:2", "bus app:3"])
            await client.close()
        }
    }

    /// A client uses one connection if it was given one.
    @Test func connectionOfTheProgramIsKept() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let listener = try await session.listen()
            let client = OpenURLClient(connection: try await Connection.open(on: try session.bus.makeLoop()))
            for number in 1...3 { #expect(try await client.open("app:\(number)").handler == "bus") }
            await listener.close()
        }
    }

    /// The router starts with the first call over the bus, and listens from then on.
    @Test func laneIsTakenAfterTheFirstAnswer() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let client = try await OpenURLClient()
            #expect(try await client.open("app:1").handler == "bus")
            let listener = try await session.listen()
            #expect(try await client.open("app:2").handler == "lane")
            #expect(try await client.open("app:3").handler == "lane")
            await client.close()
            await listener.close()
        }
    }

    /// A router without a lane is asked for it once, and its successor once more.
    @Test func eachRouterIsAskedOnce() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let client = try await OpenURLClient()
            for number in 1...2 { #expect(try await client.open("app:\(number)").handler == "bus") }
            let listener = try await session.listen()
            #expect(try await client.open("app:3").handler == "bus")
            let second = try await Connection.open(on: try session.bus.makeLoop())
            // The bus notices the end of a connection some time later.
            try await session.connection.releaseName(RouterService.name)
            await session.connection.close()
            try await session.export(on: second)
            #expect(try await client.open("app:4").handler == "bus")
            #expect(try await client.open("app:5").handler == "lane")
            await client.close()
            await listener.close()
        }
    }

    /// The router ends in order: it has no objects left, and has not seen the URL.
    @Test func urlGoesToTheBusIfTheLaneHasNoObjects() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let listener = try await session.listen()
            let client = try await OpenURLClient()
            #expect(try await client.open("app:1").handler == "lane")
            session.setAnswer(.unknownObject)
            #expect(try await client.open("app:2").handler == "bus")
            session.setAnswer(.open)
            // The client looks for the lane again after an answer of the router over the bus.
            #expect(try await client.open("app:3").handler == "bus")
            #expect(try await client.open("app:4").handler == "lane")
            #expect(session.urls == ["lane app:1", "lane app:2", "bus app:2", "bus app:3", "lane app:4"])
            await client.close()
            await listener.close()
        }
    }

    @Test func endOfAnIdleLaneIsNoticed() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let listener = try await session.listen()
            let client = try await OpenURLClient()
            #expect(try await client.open("app:1").handler == "lane")
            await listener.close()
            await session.endLanes()
            // The client may learn the end from the call, which was not sent then, or before.
            let end = try await eventually(await clientOutcome(client, "app:2")) { $0 == "bus" }
            #expect(end == "bus")
            await client.close()
        }
    }

    /// The URL may have been opened, so the client does not send it again.
    @Test func urlIsNotSentAgainIfTheLaneEndsBeforeTheAnswer() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let listener = try await session.listen()
            let client = try await OpenURLClient()
            session.setAnswer(.hangUp)
            let error = await clientError { try await client.open("app:1") }
            #expect(error == .unknown("the router exited before it answered"))
            #expect(session.urls == ["lane app:1"])
            #expect(try await client.open("app:2").handler == "bus")
            await client.close()
            await listener.close()
        }
    }

    @Test func refusalAtTheLaneIsTheAnswer() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let listener = try await session.listen()
            let client = try await OpenURLClient()
            for code in [OpenURLError.Code.declined, .noHandler, .notAllowed] {
                session.setAnswer(.refuse(code))
                let error = await clientError { try await client.open("app:1") }
                #expect(error == .notOpened(OpenURLError(code, "refused")))
            }
            #expect(session.urls == ["lane app:1", "lane app:1", "lane app:1"])
            await client.close()
            await listener.close()
        }
    }

    /// The lane takes smaller calls than the bus.
    @Test func largeCallGoesToTheBus() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let listener = try await session.listen()
            let client = try await OpenURLClient()
            var options = OpenOptions()
            options.annotation = .string(String(repeating: "a", count: RouterLane.callBytes + 1))
            // The router refuses such a call, and says so there.
            let outcome = await clientOutcome(client, "app:1", options)
            #expect(session.urls.allSatisfy { $0 == "bus app:1" })
            #expect(outcome != "lane")
            #expect(try await client.open("app:2").handler == "lane")
            await client.close()
            await listener.close()
        }
    }

    @Test func closedClientHasNoWay() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let listener = try await session.listen()
            let client = try await OpenURLClient()
            #expect(try await client.open("app:1").handler == "lane")
            await client.close()
            let error = await clientError { try await client.open("app:2") }
            #expect(error == .unavailable("the client is closed"))
            #expect(session.urls == ["lane app:1"])
            await listener.close()
        }
    }

    /// The connection that arrives after the end would never have an answer.
    @Test func closedClientKeepsNoConnectionThatItWasOpening() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let listener = try await session.listen()
            let client = try await OpenURLClient()
            let held = try HeldBus(before: session.bus)
            setenv("DBUS_SESSION_BUS_ADDRESS", held.address, 1)
            // The URL goes to the bus, because the lane has no objects.
            session.setAnswer(.unknownObject)
            let opening = Task { await clientError { try await client.open("app:1") } }
            let connecting = await held.nextClient()
            await client.close()
            try held.passOn(connecting)
            #expect(await opening.value == .unavailable("the client is closed"))
            #expect(session.urls == ["lane app:1"])
            await listener.close()
        }
    }

    @Test func failedClientsLeaveNoLoops() async {
        await #expect(processExitsWith: .success) {
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1)
            unsetenv("XDG_RUNTIME_DIR")
            // Without ssh, no other machine can be reached.
            setenv("PATH", "/nonexistent", 1)
            for _ in 0..<8 {
                #expect(await clientError { try await OpenURLClient() } != nil)
                #expect(await clientError { try await OpenURLClient(host: "nowhere") } != nil)
            }
            // The process itself may have a few, and announces the end of no thread.
            try await eventually(try eventPolls()) { $0 < 8 }
        }
    }

    @Test func withoutABusThereIsNoClient() async {
        await #expect(processExitsWith: .success) {
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1)
            unsetenv("XDG_RUNTIME_DIR")
            let error = await clientError { try await OpenURLClient() }
            guard case .unavailable(let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason.hasPrefix("there is no session bus: "), "\(reason)")
        }
    }

    // MARK: Another program in the router's place

    @Test func strangerGetsNoURL() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession(isInstalled: false)
            defer { session.bus.stop() }
            // The stranger listens at the lane too.
            let listener = try await session.listen()
            let client = try await OpenURLClient()
            let warning = try #require(await client.routerWarning())
            #expect(warning.contains("not to /usr/libexec/openurld"), "\(warning)")
            let url = try GenericURL("app:1")
            #expect(await clientError { try await client.open(url) } == .unavailable(warning))
            #expect(await clientError { try await client.open(url) { _ in } } == .unavailable(warning))
            #expect(await clientError { try await client.call(url) } == .unavailable(warning))
            #expect(await clientError { try await client.canOpen(url) } == .unavailable(warning))
            let wait = await clientError { try await client.openForCallback(url, expecting: .scheme("myapp")) }
            #expect(wait == .unavailable(warning))
            #expect(session.urls == [])
            await client.close()
            await listener.close()
        }
    }

    /// A failure of the bus does not end the checks.
    @Test func failedCheckIsRepeated() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession(
                isInstalled: false,
                rules: "<limit name='max_match_rules_per_connection'>1</limit>"
            )
            defer { session.bus.stop() }
            let connection = try await Connection.open(on: try session.bus.makeLoop())
            let rule = try await connection.watchName("com.example.other") { _, _ in }
            let check = RouterCheck(on: connection)
            let failure = try #require(await check.warning())
            #expect(failure.contains("cannot be checked"), "\(failure)")
            try await connection.unwatchName(rule)
            let warning = try #require(await check.warning())
            #expect(warning.contains("not to /usr/libexec/openurld"), "\(warning)")
        }
    }

    @Test func ownerWithoutCredentialsGetsNoURL() async {
        await #expect(processExitsWith: .success) {
            let bus = "org.freedesktop.DBus"
            let denial = "send_interface='\(bus)' send_member='GetConnectionCredentials'"
            let session = try await LaneSession(
                rules: "<policy context='default'><deny send_destination='\(bus)' \(denial)/></policy>"
            )
            defer { session.bus.stop() }
            let client = try await OpenURLClient()
            let error = await clientError { try await client.open("app:1") }
            guard case .unavailable(let reason)? = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(reason.contains("cannot be checked"), "\(reason)")
            #expect(session.urls == [])
            await client.close()
        }
    }

    @Test func variableMakesAStrangerTheRouter() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession(isInstalled: false)
            defer { session.bus.stop() }
            for name in ["any", URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path] {
                setenv("OPENURL_ROUTER", name, 1)
                let client = try await OpenURLClient()
                #expect(await client.routerWarning() == nil)
                #expect(try await client.open("app:1").handler == "bus")
                await client.close()
            }
        }
    }

    @Test func checkFollowsTheOwnerOfTheName() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession()
            defer { session.bus.stop() }
            let connection = try await Connection.open(on: try session.bus.makeLoop())
            let check = RouterCheck(on: connection)
            #expect(check.owner == nil)
            #expect(await check.warning() == nil)
            #expect(check.owner == session.connection.uniqueName)
            await session.connection.close()
            try await eventually(check.owner) { $0 == nil }
            // Without an owner there is nobody to warn of.
            #expect(await check.warning() == nil)
            let second = try await Connection.open(on: try session.bus.makeLoop())
            try await session.export(on: second)
            try await eventually(check.owner) { $0 == second.uniqueName }
        }
    }

    /// The processes of another machine's bus cannot be looked at here.
    @Test func remoteBusIsNotChecked() async {
        await #expect(processExitsWith: .success) {
            let session = try await LaneSession(isInstalled: false)
            defer { session.bus.stop() }
            let connection = try await Connection.open(on: try session.bus.makeLoop())
            let check = RouterCheck(on: connection, isLocal: false)
            #expect(await check.warning() == nil)
            #expect(check.owner == nil)
        }
    }
}

/// The handler that took a URL, or the client's error in words.
func clientOutcome(_ client: OpenURLClient, _ url: String, _ options: OpenOptions = OpenOptions()) async -> String {
    do {
        return try await client.open(url, options: options).handler
    } catch {
        return "\(error)"
    }
}

/// The number of the process's descriptors of the kind of which each event loop has one.
private func eventPolls() throws -> Int {
    let directory = "/proc/self/fd"
    return try FileManager.default.contentsOfDirectory(atPath: directory).count(where: { name in
        // The descriptor that has read the directory is closed.
        let kind = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)")
        return kind?.hasSuffix("[eventpoll]") == true
    })
}

/// A socket in front of a bus. It passes on what a client sends only when it is told to. Its descriptors end with the
/// process.
private struct HeldBus {
    let address: String
    private let listening: Int32
    private let path: String

    init(before bus: PrivateBus) throws {
        let own = bus.directory.appending(path: "held").path
        address = "unix:path=\(own)"
        path = String(bus.address.split(separator: ",")[0].dropFirst("unix:path=".count))
        listening = try Self.opened(own) { bind($0, $1, $2) }
        try #require(listen(listening, 1) == 0)
    }

    /// Waits until a client connects, and returns the connection.
    func nextClient() async -> Int32 {
        await withCheckedContinuation { continuation in
            // This blocks, so it must not use a thread of the concurrency pool.
            Thread.detachNewThread { [listening] in continuation.resume(returning: accept(listening, nil, nil)) }
        }
    }

    /// Connects a client to the bus.
    func passOn(_ client: Int32) throws {
        let bus = try Self.opened(path) { connect($0, $1, $2) }
        for (source, target) in [(client, bus), (bus, client)] {
            Thread.detachNewThread {
                var bytes = [UInt8](repeating: 0, count: 4096)
                while case let count = recv(source, &bytes, bytes.count, 0), count > 0 {
                    send(target, bytes, count, Int32(MSG_NOSIGNAL))
                }
                shutdown(target, Int32(SHUT_WR))
            }
        }
    }

    private static func opened(
        _ path: String,
        _ attach: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix($0.count - 1))) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                attach(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0)
        return descriptor
    }
}
