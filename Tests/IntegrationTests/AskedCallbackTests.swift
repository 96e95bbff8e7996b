import DBus
import Foundation
import OpenURLBus
import PrivateBus
import RFC1808
import TestSupport
import Testing

/// The callbacks that the router opens for handlers with `OUAnswersCallbacks`, with a real router and real handlers.
@Suite(.timeLimit(.minutes(10))) struct AskedCallbackTests {
    private static let app = "com.example.app"
    private static let sender = "com.example.sender"
    private static let other = "com.example.other"
    /// Asks for callbacks to the sender.
    private static let asking =
        "app://x-callback-url/add?x-success=sender://ok?a=1%23end&x-error=sender:bad&x-cancel=sender:no"

    /// A router with a handler that answers callbacks, a handler that sends it a URL, and a third handler.
    private func router(_ answering: [String] = [], forward: String = asking) async throws -> RouterProcess {
        try await RouterProcess([Self.sender: ["sources", "forward-once=\(forward)"], Self.other: []]) { directory in
            try RouterProcess.write(Self.app, answering, in: directory, extra: ["OUAnswersCallbacks": true])
        }
    }

    /// Lets the sender ask, whatever the outcome of its URL is.
    private func ask(_ router: RouterProcess) async throws {
        do throws(CallError) {
            _ = try await router.open("sender:go")
        } catch {
            guard case .remote = error else { throw error }
        }
    }

    private func opened(_ router: RouterProcess, _ id: String = sender) throws -> [String] {
        try router.log(of: id).filter { $0.hasPrefix("open ") }.map { String($0.dropFirst("open ".count)) }
    }

    /// Returns the callback that the sender gets.
    private func callback(_ router: RouterProcess) async throws -> GenericURL {
        try GenericURL(try await eventually(opened(router)) { $0.count > 1 }[1])
    }

    private func value(_ name: String, _ url: GenericURL) throws -> String? {
        try url.queryItems.first(named: name)?.value?.decoded()
    }

    @Test func replyComesBack() async throws {
        let router = try await router()
        defer { router.stop() }
        try await ask(router)
        let url = try await callback(router)
        #expect(url.description.hasPrefix("sender://ok?a=1&pid=") && url.fragment == "end", "\(url)")
        #expect(try value("source-application", url) == Self.sender)
        #expect(try value("wants-reply", url) == "true")
        // A list is no text.
        #expect(try value("environment", url) == nil)
        try await eventually(router.log(of: Self.sender)) { $0.count { $0.hasPrefix("from ") } >= 2 }
        #expect(
            try router.log(of: Self.sender).filter { $0.hasPrefix("from ") } == ["from no handler", "from \(Self.app)"]
        )
        _ = try await router.open("sender:last")
        #expect(try opened(router).count == 3)
    }

    @Test(arguments: [
        (["decline=not today"], "Declined", "com.example.app declined the URL: not today"),
        (["crash=x-callback-url"], "HandlerCrashed", nil),
        (["exit=3"], "LaunchFailed", nil), (["will=no"], "LaunchVetoed", nil),
    ]) func failureComesBack(_ answering: [String], _ code: String, _ message: String?) async throws {
        let router = try await router(answering)
        defer { router.stop() }
        try await ask(router)
        let url = try await callback(router)
        #expect(url.description.hasPrefix("sender:bad?errorCode=\(code)&errorMessage="), "\(url)")
        if let message { #expect(try value("errorMessage", url) == message) }
    }

    @Test func longReplyIsAnError() async throws {
        let router = try await router()
        defer { router.stop() }
        var options = OpenOptions()
        options.annotation = .string(String(repeating: "a", count: 70_000))
        let ends = try await claim(router, "login")
        _ = try await router.open("app://x-callback-url/add?x-success=login:ok&x-error=login:bad", options)
        let url = try #require(await ends.first { _ in true }).body.values.1
        #expect(url.hasPrefix("login:bad?errorCode=LimitsExceeded&"), "\(url)")
    }

    private func claim(
        _ router: RouterProcess,
        _ pattern: String,
        state: String? = nil,
        on other: Connection? = nil
    ) async throws -> SignalSequence<Arguments<UInt32, String, CallbackDetails>> {
        let connection = other ?? router.connection
        let ends = try await connection.signals(
            CallbackHandleInterface.completed,
            matching: MatchRule(sender: RouterService.name)
        )
        var options = CallbackOptions()
        options.state = state
        _ = try await connection.call(
            CallbackInterface.request,
            on: RouterService.object,
            Arguments("", pattern, options)
        )
        return ends
    }

    @Test func claimOfTheSenderGetsTheCallback() async throws {
        let router = try await router()
        defer { router.stop() }
        let ends = try await claim(router, "login", state: "s")
        // A callback without the state does not end the claim.
        _ = try await router.open("app://x-callback-url/add?x-success=login://ok")
        _ = try await router.open("app://x-callback-url/add?x-success=login://ok?state=s")
        let end = try #require(await ends.first { _ in true })
        #expect(end.body.values.1.hasPrefix("login://ok?state=s&"), "\(end.body.values.1)")
        #expect(end.body.values.2.sourceApplication == Self.app)
    }

    @Test func cancelledURLComesBack() async throws {
        let url = "app://x-callback-url/add?x-success=login:ok&x-error=login:bad&x-cancel=login:no"
        let router = try await router(["patient=\(url)"])
        defer { router.stop() }
        let ends = try await claim(router, "login")
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "mine")
        async let failure = router.failure(url, options)
        try await eventually(opened(router, Self.app)) { !$0.isEmpty }
        let name = try #require(router.connection.uniqueName)
        let path = try #require(options.handleToken.flatMap { RequestInterface.path(of: name, $0) })
        try await router.connection.call(RequestInterface.cancel, on: RemoteObject(RouterService.name, path), Empty())
        #expect(try await failure.code == .cancelled)
        #expect(try #require(await ends.first { _ in true }).body.values.1 == "login:no")
    }

    @Test(arguments: [
        "x-success=other:ok", "x-success=https://example.com/", "x-success=mailto:a@b.c", "x-success=file:///tmp/x",
        "x-success=javascript:x", "x-success=openurl-reply://0/success", "x-success=", "x-success=%00",
        "x-success=sender:a&x-success=sender:b", "x-success=nothing:ok", "x-source=sender",
    ]) func foreignCallbackIsNotOpened(_ parameters: String) async throws {
        let router = try await router(forward: "app://x-callback-url/add?\(parameters)")
        defer { router.stop() }
        #expect(try await router.open("sender:go").reply["wants-reply"] == nil)
        // A callback would be in front of these URLs.
        _ = try await router.open("sender:last")
        _ = try await router.open("other:last")
        #expect(try opened(router) == ["sender:go", "sender:last"])
        #expect(try opened(router, Self.other) == ["other:last"])
    }

    @Test func programWithoutASchemeGetsNoCallback() async throws {
        let router = try await router()
        defer { router.stop() }
        let stranger = try await Connection.open(.address(router.bus.address), on: try router.bus.makeLoop())
        _ = try await claim(router, "login", on: stranger)
        for callback in ["other:ok", "login://ok"] {
            let result = try await router.open("app://x-callback-url/add?x-success=\(callback)")
            #expect(result.reply["wants-reply"] == nil)
        }
        _ = try await router.open("other:last")
        #expect(try opened(router, Self.other) == ["other:last"])
        // The claim of the other program has not ended.
        #expect(try await router.open("login://ok").way == .callback)
        await stranger.close()
    }

    @Test(arguments: [
        "app://other/add?x-success=sender:ok", "app:add?x-success=sender:ok",
        "other://x-callback-url/add?x-success=sender:ok",
    ]) func onlyDeclaredHandlersAndTheHostCount(_ url: String) async throws {
        let router = try await router(forward: url)
        defer { router.stop() }
        #expect(try await router.open("sender:go").reply["wants-reply"] == nil)
        _ = try await router.open("sender:last")
        #expect(try opened(router) == ["sender:go", "sender:last"])
    }

    @Test func policyDeniesTheCallback() async throws {
        let router = try await router()
        defer { router.stop() }
        #expect(try await router.openurl("policy", "deny", "--source", Self.app, "sender").status == 0)
        try await ask(router)
        try await router.waitForLog("a callback was not opened")
        #expect(try opened(router) == ["sender:go"])
    }

    @Test func callbacksInACircleEnd() async throws {
        let router = try await RouterProcess([Self.sender: ["forward=\(Self.asking)"]]) { directory in
            try RouterProcess.write(Self.app, [], in: directory, extra: ["OUAnswersCallbacks": true])
        }
        defer { router.stop() }
        try await ask(router)
        let log = router.bus.directory.appending(path: "\(Self.sender).log")
        try await eventually(String(contentsOf: log, encoding: .utf8)) { $0.contains("LoopDetected") }
        #expect(try opened(router).count < 10)
    }

    @Test func explanationNamesTheKey() async throws {
        let router = try await router()
        defer { router.stop() }
        let explained = try await router.openurl("explain", "app:x")
        #expect(explained.output.contains("opened with the handler's reply"), "\(explained.output)")
        #expect(try await router.openurl("explain", "--json", "app:x").output.contains(#""answers-callbacks":true"#))
        #expect(try await router.openurl("explain", "--json", "other:x").output.contains(#""answers-callbacks":false"#))
    }
}
