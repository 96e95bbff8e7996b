import DBus
import Foundation
import OpenURL
import OpenURLBus
import PrivateBus
import RFC1808
import TestSupport
import Testing

/// Calls of x-callback-url, with a real router and real handlers.
@Suite(.timeLimit(.minutes(10))) struct CallingTests {
    private static let app = "com.example.app"
    private static let url = "app://x-callback-url/add?title=Milk"

    private func call(
        _ router: RouterProcess,
        _ url: String = CallingTests.url,
        _ options: OpenOptions = OpenOptions(),
        on other: Connection? = nil
    ) async throws(CallError) -> OpenResult {
        try await (other ?? router.connection).call(
            RouterInterface.call,
            on: RouterService.object,
            SentURL(url, options),
            // The calls of the tests have their outcome before the router's own limit.
            timeout: .seconds(90)
        )
    }

    private func failure(
        _ router: RouterProcess,
        _ url: String = CallingTests.url,
        _ options: OpenOptions = OpenOptions(),
        on other: Connection? = nil
    ) async throws -> OpenURLError {
        do {
            let result = try await call(router, url, options, on: other)
            Issue.record("\(url) was answered with \(result.reply)")
            return OpenURLError(.noHandler, "")
        } catch {
            guard case .remote(let error) = error else { throw error }
            return try #require(OpenURLError(error), "\(error)")
        }
    }

    private func client(_ router: RouterProcess) async throws -> Connection {
        try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
    }

    /// Returns a parameter of the last URL that the handler has got, when there is one.
    private func parameter(_ name: String, _ router: RouterProcess, after count: Int = 0) async throws -> String {
        let opened = try await eventually(router.log(of: Self.app).filter { $0.hasPrefix("open ") }) {
            $0.count > count
        }
        let url = try GenericURL(String(opened[opened.count - 1].dropFirst("open ".count)))
        return try #require(try url.queryItems.first(named: name)?.value?.decoded(), "\(url)")
    }

    private func timeout(_ time: Duration) -> OpenOptions {
        var options = OpenOptions()
        options.timeout = time
        return options
    }

    // MARK: Answers

    @Test(arguments: [[], ["answer-later"]]) func handlerOpensTheCallback(_ extra: [String]) async throws {
        let router = try await RouterProcess([Self.app: ["answer=success?id=7&name=a%20b+c&n=1&n=2"] + extra])
        defer { router.stop() }
        let result = try await call(router)
        #expect(result.handler == Self.app && result.way == .callback)
        #expect(
            result.reply == [
                "id": "7", "name": "a b c", "n": .array(["1", "2"], of: "s"),
            ]
        )
        #expect(result.requestID?.isEmpty == false)
    }

    @Test(arguments: ["env DISPLAY=:0 xdg-open", "gio open", "openurl", "openurl --verbose"])
    func openerBringsTheCallback(_ command: String)
        async throws
    {
        let command = command.replacing(/^openurl/, with: RouterProcess.command.path)
        let router = try await RouterProcess([Self.app: ["answer=success?id=7", "answer-with=\(command)"]])
        defer { router.stop() }
        #expect(try await call(router).reply == ["id": "7"])
    }

    @Test func handlerStartedByHandAnswers() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        let pid = try await router.startByHand(Self.app, ["answer=success?id=7"])
        defer { kill(pid, SIGTERM) }
        #expect(try await call(router).reply == ["id": "7"])
    }

    @Test func applicationOfTheDesktopAnswers() async throws {
        let router = try await RouterProcess { directory in
            let script = directory.appending(path: "notes")
            let answer = "$(printf %s \"$1\" | sed 's/.*x-success=\\([^&]*\\).*/\\1/; s/%3A/:/; s/%2F/\\//g')"
            let command = "exec '\(RouterProcess.command.path)' \"\(answer)?id=7\""
            try writeProgram("#!/bin/sh\n\(command)\n", to: script.path)
            let applications = directory.appending(path: "XDG_DATA_HOME/applications")
            try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
            let entry = """
                [Desktop Entry]
                Type=Application
                Name=Notes
                Exec=\(script.path) %u
                MimeType=x-scheme-handler/notes;

                """
            try Data(entry.utf8).write(to: applications.appending(path: "org.example.Notes.desktop"))
        }
        defer { router.stop() }
        let result = try await call(router, "notes://x-callback-url/add")
        #expect(result.handler == "org.example.Notes.desktop" && result.reply == ["id": "7"])
    }

    @Test func replyOfTheHandlerIsTheAnswer() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        for url in [Self.url, "app:add?title=Milk"] {
            let result = try await call(router, url)
            #expect(result.way != .callback && result.reply["pid"] != nil)
            #expect(result.reply["wants-reply"] == true)
        }
        #expect(try await router.open(Self.url).reply["wants-reply"] == nil)
    }

    @Test func handlerThatAnswersCallbacksMayReplyWithNothing() async throws {
        let router = try await RouterProcess { directory in
            try RouterProcess.write(Self.app, ["silent"], in: directory, extra: ["OUAnswersCallbacks": true])
        }
        defer { router.stop() }
        #expect(try await call(router).reply.isEmpty)
    }

    @Test func errorAndCancelAreFailures() async throws {
        let router = try await RouterProcess([
            Self.app: ["answer=error?errorCode=4&errorMessage=no%20list"], "com.example.b": ["answer=cancel"],
            "com.example.c": ["answer=error"], "com.example.d": ["decline=not today"],
        ])
        defer { router.stop() }
        #expect(try await failure(router) == OpenURLError(.declined, "no list (4)"))
        #expect(try await failure(router, "b://x-callback-url/x").code == .cancelled)
        let plain = try await failure(router, "c://x-callback-url/x")
        #expect(plain == OpenURLError(.declined, "com.example.c answered with an error"))
        let declined = OpenURLError(.declined, "com.example.d declined the URL: not today")
        #expect(try await failure(router, "d:x") == declined)
        #expect(try await failure(router, "nothing:x").code == .noHandler)
    }

    @Test func handlerGetsCallbacksOfTheRoutersOwn() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        _ = try await call(router, "\(Self.url)&x-success=evil:1&X-Error=evil:2&%78-source=evil&last=1#end")
        let line = try #require(try router.log(of: Self.app).first { $0.hasPrefix("open ") })
        #expect(line.hasPrefix("open \(Self.url)&last=1&x-source="), "\(line)")
        #expect(line.hasSuffix("#end") && !line.contains("evil"), "\(line)")
        let program = ProcessInfo.processInfo.arguments[0].split(separator: "/").last.map(String.init)
        #expect(try await parameter("x-source", router) == program)
        let tokens = try ["success", "error", "cancel"].map { kind in
            let url = try GenericURL(String(line.dropFirst("open ".count)))
            let callback = try #require(try url.queryItems.first(named: "x-\(kind)")?.value?.decoded())
            #expect(callback.hasPrefix("openurl-reply://") && callback.hasSuffix("/\(kind)"), "\(callback)")
            return callback.dropFirst("openurl-reply://".count).prefix(32)
        }
        #expect(Set(tokens).count == 1 && tokens[0].allSatisfy(\.isHexDigit))
    }

    @Test func sourceOfAHandlerIsItsIdentifier() async throws {
        let tool = "'\(RouterProcess.command.path)' call --timeout 20s app://x-callback-url/y"
        let router = try await RouterProcess([Self.app: []]) { directory in
            let script = directory.appending(path: "caller")
            try writeProgram("#!/bin/sh\nexec \(tool)\n", to: script.path)
            let arguments = ["answer=none", "answer-with=\(script.path)"]
            try RouterProcess.write("com.example.caller", arguments, in: directory)
        }
        defer { router.stop() }
        _ = try await router.open("caller:go")
        #expect(try await parameter("x-source", router) == "com.example.caller")
    }

    // MARK: Refusals

    @Test func callbackOfAnotherProgramConsumesNothing() async throws {
        let router = try await RouterProcess([Self.app: ["silent"]])
        defer { router.stop() }
        async let answer = failure(router, Self.url, timeout(.seconds(5)))
        let callback = try await parameter("x-success", router)
        let forged = [
            "\(callback)?id=evil", "openurl-reply://\(String(repeating: "0", count: 32))/success?id=evil",
            "openurl-reply:\(callback.dropFirst("openurl-reply://".count))",
            callback.replacing("/success", with: "/other"),
            callback.replacing("/success", with: ""), "OPENURL-REPLY\(callback.dropFirst("openurl-reply".count))",
        ]
        for url in forged { #expect(try await router.failure(url).code == .notAllowed, "\(url)") }
        var queued = OpenOptions()
        queued.isQueued = true
        #expect(try await router.failure(callback, queued).code == .notAllowed)
        #expect(
            try await router.failure("\(callback)?x=\(String(repeating: "a", count: 70_000))").code == .limitsExceeded
        )
        #expect(try await answer.code == .timedOut)
    }

    @Test func callbackComesOnce() async throws {
        let router = try await RouterProcess([Self.app: ["answer=success?id=7"]])
        defer { router.stop() }
        #expect(try await call(router).reply == ["id": "7"])
        let callback = try await parameter("x-success", router)
        let refused = try await router.failure(callback)
        #expect(refused.code == .notAllowed && refused.message.contains("no call is waiting"), "\(refused)")
    }

    @Test func schemeOfTheAnswersIsTheRoutersAlone() async throws {
        let router = try await RouterProcess()
        defer { router.stop() }
        let manifest = router.bus.directory.appending(path: "thief.plist")
        let keys: [String: Any] = [
            "CFBundleIdentifier": "com.example.thief", "CFBundleExecutable": "/bin/true",
            "CFBundleURLTypes": [["CFBundleURLSchemes": ["OpenURL-Reply"]]],
        ]
        try PropertyListSerialization.data(fromPropertyList: keys, format: .xml, options: 0).write(to: manifest)
        let run = try await router.openurl("register", manifest.path)
        #expect(run.status != 0 && run.errors.contains("belongs to the router"), "\(run.errors)")
        let input = Arguments("", "openurl-reply://x", CallbackOptions())
        await #expect(throws: CallError.self) {
            _ = try await router.connection.call(CallbackInterface.request, on: RouterService.object, input)
        }
        #expect(
            try await router.openurl("default", "openurl-reply", "x.desktop").errors.contains("belong to the router")
        )
        let explained = try await router.openurl("explain", "openurl-reply://x/success")
        #expect(
            explained.status == 0 && explained.output.contains("the router takes the answers"),
            "\(explained.output)"
        )
        #expect(try await router.openurl("can-open", "openurl-reply://x/success").status == 0)
    }

    @Test(arguments: ["file:///etc/passwd", "add", "app://x-callback-url/\u{7}"]) func badURLIsRefused(_ url: String)
        async throws
    {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        #expect(try await failure(router, url).code == .malformedURL)
    }

    @Test func longURLAndQueuedURLAreRefused() async throws {
        let router = try await RouterProcess([Self.app: []])
        defer { router.stop() }
        #expect(try await failure(router, "app:\(String(repeating: "a", count: 65_500))").code == .limitsExceeded)
        var queued = OpenOptions()
        queued.isQueued = true
        await #expect(throws: CallError.self) { try await call(router, Self.url, queued) }
        #expect(try router.log(of: Self.app).isEmpty)
    }

    // MARK: The end of a call

    @Test func silentHandlerUsesUpTheTime() async throws {
        let router = try await RouterProcess([Self.app: ["silent"], "com.example.b": ["stall=open"]])
        defer { router.stop() }
        let error = try await failure(router, Self.url, timeout(.seconds(1)))
        #expect(error.code == .timedOut && error.message.contains("got the URL"), "\(error)")
        let late = try await parameter("x-success", router)
        #expect(try await router.failure(late).code == .notAllowed)
        #expect(try await failure(router, "b:x", timeout(.seconds(1))).code == .timedOut)
    }

    @Test func callEndsWithItsCaller() async throws {
        let router = try await RouterProcess([Self.app: ["silent"]])
        defer { router.stop() }
        let caller = try await client(router)
        let answer = Task { try await call(router, on: caller) }
        let callback = try await parameter("x-success", router)
        #expect(try await router.failure(callback).message.contains("only com.example.app"))
        await caller.close()
        await #expect(throws: CallError.self) { try await answer.value }
        try await eventually(await router.failure(callback).message) { !$0.contains("only com.example.app") }
    }

    @Test(arguments: ["silent", "stall=open", "hang=open"]) func handleCancelsTheCall(_ handler: String) async throws {
        let router = try await RouterProcess([Self.app: [handler]])
        defer { router.stop() }
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "mine")
        async let answer = failure(router, Self.url, options)
        _ = try await parameter("x-success", router)
        let name = try #require(router.connection.uniqueName)
        let path = try #require(options.handleToken.flatMap { RequestInterface.path(of: name, $0) })
        try await router.connection.call(RequestInterface.cancel, on: RemoteObject(RouterService.name, path), Empty())
        #expect(try await answer.code == .cancelled)
    }

    @Test func endingRouterEndsTheCalls() async throws {
        let router = try await RouterProcess([Self.app: ["silent"]])
        defer { router.stop() }
        async let answer = failure(router)
        _ = try await parameter("x-success", router)
        let entry = router.desktopEntry("org.openurl.callback").path
        #expect(FileManager.default.fileExists(atPath: entry))
        #expect(await router.terminate() == 0)
        #expect(try await answer.code == .cancelled)
        #expect(!FileManager.default.fileExists(atPath: entry))
    }

    @Test func callsOfOneProgramLeaveRoomForOthers() async throws {
        let router = try await RouterProcess([Self.app: ["silent"]])
        defer { router.stop() }
        let caller = try await client(router)
        let codes = try await withThrowingTaskGroup(of: OpenURLError.Code.self) { group in
            for _ in 0..<600 {
                group.addTask { try await self.failure(router, Self.url, self.timeout(.seconds(30)), on: caller).code }
            }
            var codes: [OpenURLError.Code] = []
            for _ in 0..<88 { codes.append(try #require(try await group.next())) }
            // 512 calls wait, and another program still calls.
            let other = try await router.run(
                "timeout",
                "--signal=KILL",
                "60",
                RouterProcess.command.path,
                "call",
                "--timeout",
                "10s",
                Self.url
            )
            #expect(other.status == 6, "\(other.errors)")
            group.cancelAll()
            await caller.close()
            return codes
        }
        #expect(codes == Array(repeating: .limitsExceeded, count: 88))
    }

    // MARK: The command and the client

    @Test func commandPrintsTheAnswer() async throws {
        let router = try await RouterProcess([
            Self.app: ["answer=success?id=7&name=b"],
            "com.example.b": ["answer=error?errorCode=4&errorMessage=no%20list"],
            "com.example.c": ["answer=cancel"], "com.example.d": ["silent"],
        ])
        defer { router.stop() }
        let run = try await router.openurl(
            "call",
            "--param",
            "title=a b&c",
            "--param",
            "é=1",
            "app://x-callback-url/add"
        )
        #expect(run == CommandRun(status: 0, output: "{\"id\":\"7\",\"name\":\"b\"}\n", errors: ""))
        #expect(try await parameter("title", router) == "a b&c")
        #expect(try await parameter("é", router) == "1")
        let json = try await router.openurl("call", "--json", Self.url)
        #expect(
            json.output.hasPrefix(#"{"url":"\#(Self.url)","handler":"com.example.app","way":"callback""#),
            "\(json.output)"
        )
        #expect(json.output.contains(#""reply":{"id":"7","name":"b"}"#), "\(json.output)")
        let error = try await router.openurl("call", "b:x")
        #expect(error == CommandRun(status: 1, output: "", errors: "openurl: no list (4)\n"))
        #expect(try await router.openurl("call", "c:x").status == 11)
        #expect(try await router.openurl("call", "--timeout", "500ms", "d:x").status == 6)
        #expect(try await router.openurl("call", "nothing:x").status == 3)
        #expect(try await router.openurl("call", "add").status == 66)
        #expect(try await router.openurl("call").status == 64)
        #expect(try await router.openurl("call", "--param", "x-success=evil:1", Self.url).status == 64)
        #expect(try await router.openurl("call", "--param", "=1", Self.url).status == 64)
    }

    @Test func interruptEndsTheCall() async throws {
        let router = try await RouterProcess([Self.app: ["silent"]])
        defer { router.stop() }
        let script = try pythonProgram("interrupt_call")
        let log = router.bus.directory.appending(path: "\(Self.app).log").path
        let command = [RouterProcess.command.path, "call", Self.url]
        #expect(
            try await router.run(["timeout", "--signal=KILL", "60", "python3", "-c", script, log] + command).output
                == "11\n"
        )
    }

    @Test func clientCalls() async throws {
        let router = try await RouterProcess([Self.app: ["answer=success?id=7"], "com.example.b": ["silent"]])
        defer { router.stop() }
        let client = OpenURLClient(connection: try await client(router))
        let result = try await client.call(GenericURL("app://x-callback-url/add"), parameters: ["title": "a b"])
        #expect(result.reply == ["id": "7"])
        #expect(try await parameter("title", router) == "a b")
        let cancelled = Task { try await client.call(GenericURL("b:x")) }
        try await eventually(router.log(of: "com.example.b")) { $0.contains { $0.hasPrefix("open ") } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
    }

    @Test func logsAndQuestionsHaveNoToken() async throws {
        let router = try await RouterProcess([
            Self.app: ["answer=success?id=secret-answer", "answer-with=\(RouterProcess.command.path)"]
        ])
        defer { router.stop() }
        _ = try await call(router)
        let callback = try await parameter("x-success", router)
        for urls in [[callback], [callback, "nothing:x"]] {
            let again = try await router.openurl(["open"] + urls)
            #expect(again.status == 7 && !again.errors.contains("//"), "\(again.errors)")
        }
        let files = try #require(
            FileManager.default.enumerator(at: router.bus.directory, includingPropertiesForKeys: [.isRegularFileKey])
        )
        let token = Data(callback.split(separator: "/")[1].utf8)
        for case let file as URL in files
        where try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
            // The handler's own log has its URLs.
            guard file.lastPathComponent != "\(Self.app).log",
                let data = FileManager.default.contents(atPath: file.path)
            else { continue }
            #expect(data.range(of: token) == nil, "\(file.path)")
        }
    }
}
