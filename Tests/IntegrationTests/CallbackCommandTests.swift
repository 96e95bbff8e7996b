import DBus
import Foundation
import OpenURL
import OpenURLBus
import PrivateBus
import RFC1808
import TestSupport
import Testing

/// `openurl callback`, the client's `openForCallback` and the example, with a real router.
@Suite(.timeLimit(.minutes(10))) struct CallbackCommandTests {
    private static let app = "com.example.app"
    private static let authorize = "app:authorize?redirect_uri=login%3A%2F%2Fauth&state=s1"
    private static let callback = "login://auth?code=1&state=s1"

    /// Runs a program, and returns its output after the body has run. The body begins when a callback is waited for.
    private func waiting(
        _ router: RouterProcess,
        _ arguments: [String],
        _ body: () async throws -> Void
    ) async throws -> CommandRun {
        async let run = router.openurl(["callback"] + arguments)
        let entry = router.desktopEntry("org.openurl.callback").path
        try await eventually(FileManager.default.fileExists(atPath: entry)) { $0 }
        try await body()
        return try await run
    }

    /// Returns the `redirect_uri` in the URL that a handler has got.
    private func redirect(_ router: RouterProcess) async throws -> String {
        let log = try await eventually(router.log(of: Self.app)) {
            $0.contains { $0.hasPrefix("open app:authorize") }
        }
        let opened = try #require(log.first { $0.hasPrefix("open app:authorize") })
        let value = try #require(opened.split(separator: "redirect_uri=").last?.split(separator: "&").first)
        return try #require(String(value).removingPercentEncoding)
    }

    private func fetch(_ router: RouterProcess, _ url: String) async throws -> CommandRun {
        let script = try pythonProgram("fetch")
        return try await router.run("timeout", "--signal=KILL", "60", "python3", "-c", script, url)
    }

    @Test func callbackIsPrinted() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let run = try await waiting(router, [Self.authorize]) {
            for state in ["state=other", "state=secret", ""] {
                #expect(try await router.failure("login://auth?code=secret&\(state)").code == .notAllowed)
            }
            _ = try await router.open(Self.callback)
        }
        // Only the first of several refusals is reported, without the values.
        let refusal =
            "openurl: refused a callback and still waiting: the callback's state= is missing or wrong"
        #expect(run.status == 0 && run.output == "\(Self.callback)\n")
        #expect(run.errors.hasPrefix(refusal) && run.errors.count { $0 == "\n" } == 1, "\(run.errors)")
        #expect(!run.errors.contains("secret"))
    }

    @Test func jsonHasTheQueryAndTheSource() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let run = try await waiting(router, ["--json", "--no-open", "--for", "login", "--state", "s1", "x:y"]) {
            _ = try await router.open(Self.callback)
        }
        #expect(run.status == 0)
        #expect(run.output.contains(#""query":{"code":"1","state":"s1"}"#), "\(run.output)")
        #expect(run.output.contains(#""class":"user""#), "\(run.output)")
        #expect(run.errors == "openurl: open this address: x:y\n")
    }

    @Test func refusalOfTheServerIsAFailure() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let url = "login://auth?error=access_denied&error_description=no+way&state=s1"
        let run = try await waiting(router, [Self.authorize]) { _ = try await router.open(url) }
        #expect(run.status == 1 && run.output == "\(url)\n")
        #expect(run.errors == "openurl: the callback reports an error: access_denied: no way\n")
    }

    @Test func outcomesHaveTheirStatus() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        #expect(try await router.openurl("callback", "nothing:?redirect_uri=login:").status == 3)
        #expect(try await router.openurl("callback", "--timeout", "50ms", Self.authorize).status == 6)
        #expect(try await router.openurl("callback", "x:?redirect_uri=app:").status == 7)
        #expect(try await router.openurl("callback", "x:?redirect_uri=https://example.com").status == 7)
        #expect(try await router.openurl("callback", "x:y").status == 65)
        #expect(try await router.openurl("callback", "--timeout", "2000m", Self.authorize).status == 64)
        let run = try await waiting(router, [Self.authorize]) {
            #expect(try await router.openurl("callback", Self.authorize).status == 12)
            _ = try await router.open(Self.callback)
        }
        #expect(run.status == 0)
    }

    @Test func interruptEndsTheWait() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let script = try pythonProgram("interrupt")
        let command = [
            RouterProcess.command.path, "callback", "--no-open", "--timeout", "20s", "x:?redirect_uri=login:",
        ]
        #expect(
            try await router.run(["timeout", "--signal=KILL", "60", "python3", "-c", script] + command).output == "11\n"
        )
    }

    @Test func serverOnThisMachineTakesTheCallback() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        async let run = router.openurl("callback", "--loopback", Self.authorize)
        let address = try await redirect(router)
        #expect(address.hasPrefix("http://127.0.0.1:") && address.hasSuffix("/callback"), "\(address)")
        for state in ["s2", "s3"] {
            #expect(try await fetch(router, "\(address)?code=1&state=\(state)").output == "403\n")
        }
        #expect(try await fetch(router, "\(address)?code=1&state=s1").output.contains("close this tab"))
        let refusal = "openurl: refused a callback and still waiting: its state= is missing or wrong\n"
        #expect(try await run == CommandRun(status: 0, output: "\(address)?code=1&state=s1\n", errors: refusal))
    }

    @Test func lineOfTheTerminalIsTheCallback() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let lines = "printf 'login://other\\nlogin://auth?state=s2\\n  \(Self.callback)  \\n'"
        let command = "\(lines) | '\(RouterProcess.command.path)' callback --paste --no-open '\(Self.authorize)'"
        let run = try await router.run("timeout", "--signal=KILL", "60", "sh", "-c", command)
        #expect(run.status == 0 && run.output == "\(Self.callback)\n", "\(run.errors)")
        #expect(run.errors.split(separator: "\n").count { $0.contains("that is not the callback") } == 2)
        // In a session of SSH without a display, the browser is elsewhere.
        let remote = "\(lines) | SSH_CONNECTION=x '\(RouterProcess.command.path)' callback '\(Self.authorize)'"
        #expect(
            try await router.run("timeout", "--signal=KILL", "60", "sh", "-c", remote).output == "\(Self.callback)\n"
        )
        #expect(try router.log(of: Self.app).isEmpty)
    }

    @Test func endOfTheRouterEndsTheWait() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let run = try await waiting(router, ["--no-open", "x:?redirect_uri=login:"]) { kill(router.pid, SIGKILL) }
        #expect(run.status == 69, "\(run.errors)")
    }

    // MARK: Swift

    private func client(_ router: RouterProcess) async throws -> OpenURLClient {
        OpenURLClient(
            connection: try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
        )
    }

    @Test func clientGetsTheCallback() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let client = try await client(router)
        let url = try GenericURL(Self.authorize)
        for expectation in [CallbackExpectation.prefix("login://auth"), .scheme("login")] {
            async let callback = client.openForCallback(url, expecting: expectation)
            try await eventually(await router.canOpen(Self.callback)) { $0 }
            _ = try await router.open(Self.callback)
            let found = try await callback
            #expect("\(found.url)" == Self.callback && found.query == ["code": "1", "state": "s1"])
            #expect(found.source?.callerClass == .known(.user))
        }
    }

    @Test func clientServesTheCallback() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let client = try await client(router)
        async let callback = client.openForCallback(GenericURL(Self.authorize), expecting: .loopback(path: "/done"))
        let address = try await redirect(router)
        #expect(try await fetch(router, "\(address)?code=2&state=s1").output.contains("close this tab"))
        #expect(try await callback.query["code"] == "2")
    }

    @Test func cancelledTaskDropsTheClaim() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let client = try await client(router)
        let task = Task { try await client.openForCallback(GenericURL(Self.authorize), expecting: .scheme("login")) }
        try await eventually(await router.canOpen(Self.callback)) { $0 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await eventually(await router.canOpen(Self.callback)) { !$0 }
    }

    @Test func clientGetsTheReason() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let client = try await client(router)
        let (short, long) = (Duration.milliseconds(500), Duration.seconds(60))
        for (url, expectation, limit, code): (String, CallbackExpectation, Duration, OpenURLError.Code) in [
            (Self.authorize, .scheme("app"), long, .notAllowed),
            (Self.authorize, .scheme("no scheme"), long, .malformedURL),
            ("nothing:", .scheme("login"), long, .noHandler), ("nothing:", .loopback(path: "/x"), long, .noHandler),
            (Self.authorize, .scheme("late"), short, .timedOut),
            (Self.authorize, .loopback(path: "/x"), short, .timedOut),
        ] {
            do {
                _ = try await client.openForCallback(GenericURL(url), expecting: expectation, timeout: limit)
                Issue.record("there was no callback")
            } catch OpenURLClientError.notOpened(let error) {
                #expect(error.code == code)
            }
        }
    }

    // MARK: The example

    @Test(arguments: [
        ["example-login://done"], ["http://127.0.0.1/done"], ["example-login://done", "login", "example-login://done"],
        ["http://127.0.0.1/done", "login", "http://127.0.0.1/done"],
    ])
    func exampleSignsIn(_ arguments: [String]) async throws {
        // The browser follows the server to the callback.
        let router = try await RouterProcess { directory in
            let browser = directory.appending(path: "browser")
            try writeProgram(pythonProgram("browser"), to: browser.path)
            let applications = directory.appending(path: "XDG_DATA_HOME/applications")
            try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
            let entry =
                "[Desktop Entry]\nType=Application\nName=Browser\nExec=\(browser.path) %u\nMimeType=x-scheme-handler/http;\n"
            try Data(entry.utf8).write(to: applications.appending(path: "browser.desktop"))
        }
        defer { router.stop() }
        let login = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../examples/login")
            .standardized
        let command = """
            export PATH='\(RouterProcess.products.path)':"$PATH"
            mkfifo "$HOME/address"
            '\(login.path)/server' >"$HOME/address" & server=$!
            read -r address <"$HOME/address"
            '\(login.path)/sign-in' "$address" "$@"; status=$?
            # The signals that end a program may be blocked in the children of a test.
            kill -9 $server; exit $status
            """
        let run = try await router.run(["timeout", "-s", "KILL", "60", "sh", "-c", command, "sh"] + arguments)
        #expect(run == CommandRun(status: 0, output: "token-of-the-example\n", errors: ""))
    }
}
