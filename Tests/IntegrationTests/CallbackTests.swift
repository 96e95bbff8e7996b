import DBus
import Foundation
import OpenURL
import OpenURLBus
import PrivateBus
import RFC1808
import TestSupport
import Testing

/// Programs that wait for a URL to come back, with a real router.
@Suite(.timeLimit(.minutes(10))) struct CallbackTests {
    private static let app = "com.example.app"
    private static let callback = "login://auth/done?code=1&state=s1"
    private static let authorize = "app:authorize?redirect_uri=login%3A%2F%2Fauth%2Fdone&state=s1"

    private func client(_ router: RouterProcess) async throws -> Connection {
        try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
    }

    private struct Claim {
        let connection: Connection
        let path: ObjectPath
        let ends: SignalSequence<Arguments<UInt32, String, CallbackDetails>>

        func end() async throws -> (CallbackEnd?, String, CallbackDetails) {
            let signal = try #require(await ends.first { _ in true })
            #expect(signal.path == path)
            return (CallbackEnd(rawValue: signal.body.values.0), signal.body.values.1, signal.body.values.2)
        }

        func close(by other: Connection? = nil) async throws {
            let handle = RemoteObject(RouterService.name, path)
            try await (other ?? connection).call(CallbackHandleInterface.close, on: handle, Empty())
        }
    }

    private func claim(
        _ router: RouterProcess,
        _ pattern: String,
        url: String = "",
        state: String? = nil,
        timeout: Duration? = nil,
        from sources: [String] = [],
        by other: Connection? = nil
    ) async throws -> Claim {
        let connection = if let other { other } else { try await client(router) }
        let ends = try await connection.signals(
            CallbackHandleInterface.completed,
            matching: MatchRule(sender: RouterService.name)
        )
        var options = CallbackOptions()
        options.state = state
        options.timeout = timeout
        options.answerFrom = sources
        let input = Arguments(url, pattern, options)
        let path = try await connection.call(CallbackInterface.request, on: RouterService.object, input)
        return Claim(connection: connection, path: path, ends: ends)
    }

    private func refusal(_ body: () async throws -> some Any) async throws -> OpenURLError.Code? {
        do {
            _ = try await body()
            return nil
        } catch CallError.remote(let error) {
            return OpenURLError(error)?.code
        }
    }

    private func entry(_ router: RouterProcess) -> URL { router.desktopEntry("org.openurl.callback") }

    /// The files of the desktop that name the scheme of the test.
    private func traces(_ router: RouterProcess) throws -> [String] {
        let directories = [router.bus.directory.appending(path: "XDG_DATA_HOME/applications")]
        let config = router.bus.directory.appending(path: "XDG_CONFIG_HOME/mimeapps.list")
        var files = FileManager.default.fileExists(atPath: config.path) ? [config] : []
        for directory in directories where FileManager.default.fileExists(atPath: directory.path) {
            files += try FileManager.default.contentsOfDirectory(
                at: directory,
                includingPropertiesForKeys: nil,
                options: .skipsHiddenFiles
            )
        }
        return files.filter { file in
            // The router replaces and removes files meanwhile.
            guard let content = FileManager.default.contents(atPath: file.path) else { return false }
            let text = String(decoding: content, as: UTF8.self)
            return text.contains("x-scheme-handler/login") || text.contains("org.openurl.callback")
        }.map(\.lastPathComponent).sorted()
    }

    private func waitUntilClean(_ router: RouterProcess) async throws {
        try await eventually(traces(router)) { $0.isEmpty }
    }

    @Test func callbackGoesToTheClaimantAndEndsTheClaim() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let claim = try await claim(router, "", url: Self.authorize)
        #expect(try traces(router) == ["mimeinfo.cache", "org.openurl.callback.desktop"])
        var options = OpenOptions()
        options.activationToken = "token"
        let result = try await router.open(Self.callback, options)
        #expect(result.way == .callback && result.handler == CallbackInterface.handler)
        let (code, url, details) = try await claim.end()
        #expect(code == .received && url == Self.callback)
        #expect(details.activationToken == "token")
        #expect(details.source.callerClass == .known(.user))
        #expect(details.source.pid == UInt32(ProcessInfo.processInfo.processIdentifier))
        #expect(try await router.failure(Self.callback).code == .noHandler)
        try await waitUntilClean(router)
        try await eventually(router.log(of: Self.app)) { $0.contains("open \(Self.authorize)") }
    }

    @Test func wrongStateConsumesNothing() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let claim = try await claim(router, "login://auth", state: "s1")
        for url in ["login://auth/done?code=1&state=s2", "login://auth/done?code=1"] {
            #expect(try await router.failure(url).code == .notAllowed)
        }
        #expect(try await router.failure("login://other?state=s1").code == .noHandler)
        _ = try await router.open(Self.callback)
        #expect(try await claim.end().1 == Self.callback)
    }

    @Test func claimEndsAtItsTimeAndWithItsOwner() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let late = try await claim(router, "login", timeout: .milliseconds(50))
        let (code, url, details) = try await late.end()
        #expect(code == .failed && url.isEmpty)
        #expect(details.error.flatMap(OpenURLError.init)?.code == .timedOut)
        let gone = try await claim(router, "login")
        await gone.connection.close()
        try await waitUntilClean(router)
        #expect(try await router.failure(Self.callback).code == .noHandler)
    }

    @Test func ownerClosesAndNoOtherProgramDoes() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let claim = try await claim(router, "login")
        #expect(try await refusal { try await claim.close(by: router.connection) } == .notAllowed)
        try await claim.close()
        #expect(try await claim.end().0 == .closed)
        await #expect(throws: CallError.self) { try await claim.close() }
        try await waitUntilClean(router)
    }

    @Test func equalClaimIsRefusedAndTheFirstStays() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let first = try await claim(router, "login://auth")
        #expect(try await refusal { try await self.claim(router, "LOGIN://Auth/") } == .alreadyClaimed)
        _ = try await claim(router, "login://auth/other")
        _ = try await router.open("login://auth?x")
        #expect(try await first.end().0 == .received)
    }

    @Test func applicationHasSixteenClaims() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let connection = try await client(router)
        for number in 0..<16 { _ = try await claim(router, "login\(number)", by: connection) }
        // Another connection of the same program is the same application.
        #expect(try await refusal { try await self.claim(router, "login16") } == .limitsExceeded)
    }

    @Test(arguments: [
        "http://example.com/", "https:", "javascript:", "data:", "file:///", "about:", "blob:", "mailto:", "tel:",
    ])
    func schemeIsNeverClaimed(_ pattern: String) async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        #expect(try await refusal { try await self.claim(router, pattern) } == .notAllowed)
    }

    @Test func schemeOfAnotherApplicationNeedsTheWordOfThePolicy() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        #expect(try await refusal { try await self.claim(router, "app://auth") } == .notAllowed)
        #expect(try await router.openurl("policy", "allow", "--source", "user", "*").status == 0)
        #expect(try await refusal { try await self.claim(router, "app://auth") } == .notAllowed)
        #expect(try await router.openurl("policy", "allow", "--source", "user", "app").status == 0)
        let claim = try await claim(router, "app://auth")
        // The claim wins for its URLs, and all others go to the handler.
        _ = try await router.open("app://other")
        #expect(try await router.open("app://auth?code=1").way == .callback)
        #expect(try await claim.end().1 == "app://auth?code=1")
        #expect(try await router.open("app://auth?code=1").handler == Self.app)
        #expect(try await router.openurl("policy", "deny", "--source", "user", "login").status == 0)
        #expect(try await refusal { try await self.claim(router, "login") } == .notAllowed)
    }

    @Test func onlyNamedProgramsMayAnswer() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        _ = try await claim(router, "login", from: ["/usr/bin/no-such-browser"])
        #expect(try await router.failure(Self.callback).code == .notAllowed)
        let claim = try await claim(router, "login://auth", from: ["user"])
        _ = try await router.open(Self.callback)
        #expect(try await claim.end().0 == .received)
    }

    @Test func urlThatNothingOpensEndsTheClaim() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let claim = try await claim(router, "", url: "nothing:?redirect_uri=login:")
        let (code, _, details) = try await claim.end()
        #expect(code == .failed)
        #expect(details.error.flatMap(OpenURLError.init)?.code == .noHandler)
    }

    @Test(arguments: [["xdg-open"], ["gio", "open"]]) func desktopReachesTheClaim(_ command: [String]) async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let claim = try await claim(router, "login://auth", state: "s1")
        let run = try await router.tool(command + [Self.callback])
        #expect(run.status == 0, "\(run.errors)")
        let (code, url, _) = try await claim.end()
        #expect(code == .received && url == Self.callback)
        try await waitUntilClean(router)
    }

    @Test func explanationNamesTheWait() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        _ = try await claim(router, "login")
        let explained = try await router.openurl("explain", Self.callback)
        #expect(explained.status == 0)
        #expect(explained.output.contains("a program is waiting for this callback"), "\(explained.output)")
        #expect(try await router.openurl("can-open", Self.callback).status == 0)
    }

    @Test func killedRoutersEntryIsSweptAtTheNextStart() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        try await router.waitUntilPublished(Self.app)
        let claim = try await claim(router, "login")
        #expect(try traces(router).count == 2)
        kill(router.pid, SIGKILL)
        let next = ChildProcess()
        next.executableURL = RouterProcess.products.appending(path: "openurld")
        next.environment = router.bus.environment
        next.standardError = FileHandle.nullDevice
        let name = RouterService.name
        try await eventually(await router.connection.owner(of: name)) { $0 == nil }
        try await RouterProcess.waitForOwner(of: name, on: router.connection) { try next.run() }
        try await waitUntilClean(router)
        _ = claim
    }

    @Test func endingRouterEndsTheClaims() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let claim = try await claim(router, "login")
        #expect(await router.terminate() == 0)
        let (code, _, details) = try await claim.end()
        #expect(code == .failed)
        #expect(details.error.flatMap(OpenURLError.init)?.code == .cancelled)
        #expect(try traces(router).isEmpty)
    }
}
