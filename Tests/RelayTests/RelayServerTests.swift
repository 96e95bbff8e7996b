import Foundation
import Glibc
import OpenURLBus
import RFC1808
import Reactor
import Relay
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct RelayServerTests {
    /// A router that notes what it is asked for.
    ///
    /// It stays on the share's loop. An actor without an executor of its own can resume its caller on the thread that it
    /// runs on, and a test that then waits for an answer would block the loop that must send it.
    private actor StandIn: RelayedRouter {
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        private let loop: EventLoop
        private(set) var opened: [String] = []
        private(set) var cancelled = 0
        var error: OpenURLError?
        private var isHeld = false
        private var started: (@Sendable () -> Void)?
        private var end: AsyncStream<OpenURLError?>.Continuation?

        init(on loop: EventLoop) { self.loop = loop }

        func fail(_ error: OpenURLError) { self.error = error }
        func hold() { isHeld = true }
        /// Reports that a program has been started with the URL of the request that is held.
        func reportStart() { started?() }
        /// Ends the request that is held.
        func finish() { end?.yield(nil) }
        func refuse(_ error: OpenURLError) { end?.yield(error) }

        func open(_ url: GenericURL, started: (@Sendable () -> Void)?) async throws(OpenURLError) {
            opened.append(url.description)
            if let error { throw error }
            guard isHeld else { return }
            let (ends, end) = AsyncStream<OpenURLError?>.makeStream()
            (self.started, self.end) = (started, end)
            if let result = await ends.first(where: { _ in true }) {
                if let error = result { throw error }
                return
            }
            cancelled += 1
            throw OpenURLError(.cancelled, "cancelled")
        }

        func canOpen(_ url: GenericURL) async throws(OpenURLError) -> Bool { url.scheme == "https" }

        func callback(of url: GenericURL) async throws(OpenURLError) -> GenericURL {
            opened.append(url.description)
            do throws(GenericURL.ParseError) {
                return try GenericURL("myapp://auth?code=1")
            } catch {
                throw OpenURLError(.malformedURL, "\(error)")
            }
        }
    }

    /// A share that ends with the test.
    private final class Fixture {
        let directory: ShareDirectory
        let router: StandIn
        let server: RelayServer
        let loop: EventLoop
        private let root: URL

        init(_ limits: ShareLimits = ShareLimits(), for peers: SharePeers = .container) async throws {
            root = URL(filePath: "/tmp").appending(path: "relay-\(UUID().uuidString.prefix(8))")
            try FileManager.default.createDirectory(
                at: root,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            directory = try ShareDirectory("shares/box", in: root.path)
            loop = try EventLoop()
            router = StandIn(on: loop)
            server = RelayServer(try directory.listen(), for: peers, router, on: loop, limits)
            await server.start()
        }

        func connect() throws -> FarProgram { try FarProgram("\(directory.path)/socket") }

        /// Connects through a process that this one has started, as ssh is.
        func connectAsChild() throws -> FarChild { try FarChild("\(directory.path)/socket") }

        func stop() async {
            await server.stop()
            loop.stop()
            directory.remove(keepingDirectory: false)
            try? FileManager.default.removeItem(at: root)
        }
    }

    private func withShare(
        _ limits: ShareLimits = ShareLimits(),
        for peers: SharePeers = .container,
        _ body: (Fixture) async throws -> Void
    ) async throws {
        let fixture = try await Fixture(limits, for: peers)
        do {
            try await body(fixture)
        } catch {
            await fixture.stop()
            throw error
        }
        await fixture.stop()
    }

    @Test func requestsAreAnswered() async throws {
        try await withShare { (share) async throws in
            #expect(try share.connect().ask("openurl/1 open https://a.example/\n") == ["opened"])
            #expect(try share.connect().ask("openurl/1 can-open https://a.example/\n") == ["yes"])
            #expect(try share.connect().ask("openurl/1 can-open mailto:x\n") == ["no"])
            let signIn = "https://a.example/?redirect_uri=myapp://auth&state=s"
            #expect(try share.connect().ask("openurl/1 callback \(signIn)\n") == ["callback myapp://auth?code=1"])
            await share.router.fail(OpenURLError(.notAllowed, "no\nopened"))
            #expect(try share.connect().ask("openurl/1 open https://b.example/\n") == [#"failed 7 no\nopened"#])
            #expect(await share.router.opened == ["https://a.example/", signIn, "https://b.example/"])
        }
    }

    @Test func otherRequestsEndTheConnection() async throws {
        try await withShare { (share) async throws in
            for request in ["GET / HTTP/1.0\n", "openurl/1 open https://a/\nopenurl/1 open https://b/\n", "\n"] {
                #expect(try share.connect().ask(request) == [])
            }
            #expect(await share.router.opened.isEmpty)
        }
    }

    @Test func endOfTheConnectionCancels() async throws {
        try await withShare { (share) async throws in
            await share.router.hold()
            for rest in ["", "x"] {
                let before = await share.router.opened.count
                var program: FarProgram? = try share.connect()
                program?.write("openurl/1 open https://a.example/\n")
                try await eventually(await share.router.opened.count) { $0 == before + 1 }
                // A second request on the connection ends it, too.
                if rest.isEmpty { program = nil } else { program?.write(rest) }
                try await eventually(await share.router.cancelled) { $0 == before + 1 }
                if let program { #expect(try program.line() == nil) }
            }
        }
    }

    @Test func slowRequestsEnd() async throws {
        var limits = ShareLimits()
        limits.requestTime = .milliseconds(50)
        try await withShare(limits) { (share) async throws in
            #expect(try share.connect().ask("openurl/1 op") == [])
            #expect(try share.connect().ask("") == [])
        }
    }

    @Test func connectionsAreLimited() async throws {
        var limits = ShareLimits()
        limits.connections = 2
        try await withShare(limits) { (share) async throws in
            let silent = [try share.connect(), try share.connect()]
            #expect(try share.connect().ask("openurl/1 open https://a.example/\n") == [])
            withExtendedLifetime(silent) {}
        }
    }

    @Test func otherProcessesAreRefused() async throws {
        // This process is not its own descendant.
        try await withShare(for: .descendants) { (share) async throws in
            #expect(try share.connect().ask("openurl/1 open https://a.example/\n") == [])
            #expect(await share.router.opened.isEmpty)
        }
    }

    // MARK: Sign-ins at a port

    /// Returns a port that is free now.
    private func freePort() throws -> UInt16 {
        let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try #require(bind(socket, $0, size) == 0 && getsockname(socket, $0, &size) == 0)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
    }

    @Test func callbackAtAPortReachesTheFarSide() async throws {
        try await withShare(for: .descendants) { (share) async throws in
            let port = try freePort()
            let redirect = "http%3A%2F%2Flocalhost%3A\(port)%2Fdone"
            let program = try share.connectAsChild()
            try program.write("openurl/1 open https://a.example/?redirect_uri=\(redirect)&state=s1\n")
            #expect(try program.line() == "opened-waiting")
            #expect(try status(ofGet: "/other?state=s1", at: port) == 404)
            #expect(try status(ofGet: "/done?code=1&state=s2", at: port) == 403)
            #expect(try status(ofGet: "/done?code=1&state=s1", at: port) == 200)
            #expect(try program.line() == "callback http://localhost:\(port)/done?code=1&state=s1")
            #expect(try program.line() == nil)
        }
    }

    /// Begins a sign-in whose URL the router holds, and returns the program that waits for the callback, and its port.
    private func beginSignIn(_ share: Fixture) async throws -> (FarChild, UInt16) {
        await share.router.hold()
        let port = try freePort()
        let program = try share.connectAsChild()
        let url = "https://a.example/?redirect_uri=http://127.0.0.1:\(port)/done&state=s1"
        try program.write("openurl/1 open \(url)\n")
        try await eventually(await share.router.opened) { !$0.isEmpty }
        return (program, port)
    }

    /// The router may still be waiting for the end of the browser's command.
    @Test func callbackPassesOnceAProgramHasTheURL() async throws {
        try await withShare(for: .descendants) { (share) async throws in
            let (program, port) = try await beginSignIn(share)
            await share.router.reportStart()
            let browser = try BrowserRequest(get: "/done?code=1&state=s1", at: port)
            #expect(try program.line() == "opened-waiting")
            #expect(try program.line() == "callback http://127.0.0.1:\(port)/done?code=1&state=s1")
            #expect(try program.line() == nil)
            #expect(try browser.status() == 200)
            #expect(await share.router.cancelled == 0)
            // Nobody learns that the browser's command has failed after all.
            await share.router.refuse(OpenURLError(.declined, "no"))
        }
    }

    /// The browser may be faster than the report about its start, or there may be no report.
    @Test(arguments: [false, true]) func heldCallbackPassesLater(_ isReported: Bool) async throws {
        try await withShare(for: .descendants) { (share) async throws in
            let (program, port) = try await beginSignIn(share)
            #expect(try status(ofGet: "/done?code=1&state=s1", at: port) == 200)
            await (isReported ? share.router.reportStart() : share.router.finish())
            #expect(try program.line() == "opened-waiting")
            #expect(try program.line() == "callback http://127.0.0.1:\(port)/done?code=1&state=s1")
            #expect(try program.line() == nil)
            if isReported { await share.router.finish() }
        }
    }

    @Test(arguments: [false, true]) func callbackOfARefusedURLDoesNotPass(_ isStarted: Bool) async throws {
        try await withShare(for: .descendants) { (share) async throws in
            let (program, port) = try await beginSignIn(share)
            // A program that fails has opened nothing, and a callback before its start is held.
            if isStarted {
                await share.router.reportStart()
            } else {
                // The router may be waiting for the browser.
                #expect(try status(ofGet: "/done?code=1&state=s1", at: port) == 200)
            }
            await share.router.refuse(OpenURLError(.notAllowed, "no"))
            #expect(try program.line() == "failed 7 no")
            #expect(try program.line() == nil)
        }
    }

    @Test func systemPortsAreRefused() async throws {
        try await withShare(for: .descendants) { (share) async throws in
            for address in ["http://127.0.0.1:80/", "http://localhost:22/", "http%3A%2F%2F%5B%3A%3A1%5D%3A1023%2Fx"] {
                let answer = try share.connectAsChild().ask(
                    "openurl/1 open https://a.example/?redirect_uri=\(address)\n"
                )
                #expect(answer.first?.hasPrefix("failed 7 ") == true, "\(answer)")
            }
            #expect(await share.router.opened.isEmpty)
        }
    }

    @Test func waitsAreLimited() async throws {
        var limits = ShareLimits()
        limits.waits = 1
        try await withShare(limits, for: .descendants) { (share) async throws in
            let url = "https://a.example/?state=s&redirect_uri=http://127.0.0.1:"
            let first = try share.connectAsChild()
            try first.write("openurl/1 open \(url)\(try freePort())/\n")
            #expect(try first.line() == "opened-waiting")
            let answer = try share.connectAsChild().ask("openurl/1 open \(url)\(try freePort())/\n")
            #expect(answer.first?.hasPrefix("failed 8 ") == true, "\(answer)")
            #expect(try share.connectAsChild().ask("openurl/1 open https://a.example/\n") == ["opened"])
        }
    }

    // MARK: The directory

    @Test func directoryBelongsToOneProcess() async throws {
        try await withShare { (share) async throws in
            let root = share.directory.path.replacing("/openurl/shares/box", with: "")
            #expect(throws: ShareDirectory.Failure.self) { try ShareDirectory("shares/box", in: root) }
            #expect(ShareDirectory.listener(at: share.directory.path) == getpid())
            #expect(ShareDirectory.listener(at: "\(root)/openurl/shares/other") == nil)
        }
    }

    @Test func remainsOfAnEndedProcessAreReplaced() throws {
        let root = URL(filePath: "/tmp").appending(path: "relay-\(UUID().uuidString.prefix(8))")
        let place = root.appending(path: "openurl/ssh-1")
        try FileManager.default.createDirectory(
            at: place,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        defer { try? FileManager.default.removeItem(at: root) }
        let victim = root.appending(path: "victim")
        try Data("kept".utf8).write(to: victim)
        for name in ["socket", "openurl-remote", "xdg-open"] {
            try FileManager.default.createSymbolicLink(at: place.appending(path: name), withDestinationURL: victim)
        }
        let directory = try ShareDirectory("ssh-1", in: root.path)
        close(try directory.listen())
        try directory.add(client: "/bin/true")
        #expect(try String(contentsOf: victim, encoding: .utf8) == "kept")
        directory.remove(keepingDirectory: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
        ShareDirectory.removeAbandoned("ssh-", in: root.path)
        #expect(FileManager.default.fileExists(atPath: place.path), "its process still has it")
        withExtendedLifetime(directory) {}
    }

    @Test func abandonedDirectoriesAreRemoved() throws {
        let root = URL(filePath: "/tmp").appending(path: "relay-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: root) }
        for name in ["ssh-1", "ssh-2", "shares"] {
            try FileManager.default.createDirectory(
                at: root.appending(path: "openurl/\(name)"),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        }
        try Data().write(to: root.appending(path: "openurl/ssh-1/socket"))
        ShareDirectory.removeAbandoned("ssh-", in: root.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "openurl").path) == ["shares"])
    }
}
