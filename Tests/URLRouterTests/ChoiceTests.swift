import OpenURLBus
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// The choice of the handler for a URL, and the error for a URL without a handler.
@Suite(.timeLimit(.minutes(10))) struct ChoiceTests {
    private let owner: BusName = ":1.1"

    /// Opens a URL with a handler that accepts every URL.
    private func open(
        _ url: String,
        _ options: OpenOptions = OpenOptions(),
        as opened: String,
        on router: URLRouter,
        _ bus: FakeHandlers
    ) async throws -> OpenResult {
        let request = Task { try await router.open(url, options, caller: ":1.99") }
        await bus.wait(for: .opened(opened, at: owner))
        bus.answer(opened)
        return try await request.value
    }

    @Test func urlWithoutAUsableSchemeIsMalformed() async throws {
        let router = URLRouter([], on: try FakeHandlers([:]))
        for (url, message) in [
            ("//host/path", "at byte offset 0: the URL has no scheme; it must start with one, as in todolist:"),
            ("", "at byte offset 0: the URL is empty"),
        ] {
            let error = await failure { () throws(OpenURLError) in try await router.open(url) }
            #expect(error == OpenURLError(.malformedURL, message))
        }
        let space = await failure { () throws(OpenURLError) in try await router.open("app:a b") }
        #expect(space?.code == .malformedURL)
        #expect(space?.message.hasPrefix("at byte offset 5:") == true)
        let long = "app:" + String(repeating: "x", count: 65_536)
        #expect(await failure { () throws(OpenURLError) in try await router.open(long) }?.code == .limitsExceeded)
    }

    @Test func errorSaysWhyThereIsNoHandler() async throws {
        let handlers: [Handler] = [
            try .test("com.example.hosts") {
                $0.urlTypes = [URLType(schemes: [try Scheme("hosts")], hosts: [try HostPattern("example.com")])]
            },
            try .test("org.openurl.system.web", program: nil, scheme: "web", scope: .system) { $0.isFixed = true },
        ]
        let router = URLRouter(handlers, on: try FakeHandlers([:]))
        for (url, message) in [
            ("unclaimed:x", "no handler claims the scheme unclaimed; register one with 'openurl register PATH'"),
            ("hosts://other/", "no handler claims hosts: for the host 'other'; 'openurl list' shows the handlers"),
            (
                "web:x",
                "web: belongs to the system, and the desktop has no application for it; install one, or choose an "
                    + "installed one with 'openurl default web NAME.desktop'"
            ),
        ] {
            let error = await failure { () throws(OpenURLError) in try await router.open(url) }
            #expect(error == OpenURLError(.noHandler, message))
        }
    }

    @Test func requestedHandlerGetsTheURLIfItClaimsTheURL() async throws {
        let bus = try FakeHandlers(["com.example.first": owner, "com.example.second": owner])
        let handlers: [Handler] = [
            try .test("com.example.first", scheme: "both"),
            try .test("com.example.second", scheme: "both", precedence: 1),
            try .test("com.example.third", scheme: "third"),
        ]
        let router = URLRouter(handlers, on: bus)
        #expect(try await open("both:1", as: "both:1", on: router, bus).handler == "com.example.first")
        var options = OpenOptions()
        options.handler = "com.example.second"
        #expect(try await open("both:2", options, as: "both:2", on: router, bus).handler == "com.example.second")
        let elsewhere = "does not claim this both: URL; 'openurl list' shows the handlers that do"
        let unknown = "no handler is registered as"
        for (wanted, message) in [
            ("com.example.third", "com.example.third \(elsewhere)"),
            ("third.desktop", "third.desktop \(elsewhere)"),
            ("com.example.unknown", "\(unknown) com.example.unknown; 'openurl list' shows all that are"),
            ("", "\(unknown) ; 'openurl list' shows all that are"),
        ] {
            options.handler = wanted
            let error = await failure { () throws(OpenURLError) in
                try await router.open("both:3", options, caller: ownConnection)
            }
            #expect(error == OpenURLError(.noHandler, message))
        }
    }

    @Test func fallbacksAreTriedInOrderOnlyWithoutAHandler() async throws {
        let bus = try FakeHandlers(["com.example.app": owner])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        var options = OpenOptions()
        options.fallback = ["two:x", "app:x", "app:y"]
        let result = try await open("one:x", options, as: "app:x", on: router, bus)
        #expect(result.way == .fallback)
        #expect(bus.opened == [])
        // A URL with a handler needs no fallback.
        #expect(try await open("app:z", options, as: "app:z", on: router, bus).way == .active)

        options.fallback = ["two:x", "three:x"]
        let none = await failure { () throws(OpenURLError) in
            try await router.open("one:x", options, caller: ownConnection)
        }
        #expect(none?.code == .noHandler)
        #expect(none?.message.contains("the scheme one;") == true)
        options.fallback = ["b d", "app:x"]
        let malformed = await failure { () throws(OpenURLError) in
            try await router.open("one:x", options, caller: ":1.99")
        }
        #expect(malformed?.code == .malformedURL)
    }

    @Test func declinedFallbackIsTheOutcome() async throws {
        let bus = try FakeHandlers(["com.example.app": owner])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        var options = OpenOptions()
        options.fallback = ["app:x", "app:y"]
        let request = Task { [options] in try await router.open("one:x", options, caller: ":1.99") }
        await bus.wait(for: .opened("app:x", at: owner))
        bus.answer("app:x", .failure(.named(OpenURLError.Code.declined.errorName, "no")))
        await #expect(throws: OpenURLError(.declined, "com.example.app declined the URL: no")) {
            try await request.value
        }
        #expect(bus.opened == [])
    }

    @Test func newRegistryAppliesToLaterURLs() async throws {
        let bus = try FakeHandlers(["com.example.app": owner])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        let running = Task { try await router.open("app:1") }
        await bus.wait(for: .opened("app:1", at: owner))
        let other: Handler = try .test("com.example.other")
        let new = RegistrySnapshot(number: 2, registry: Registry(handlers: [other]), changed: ["app", "other"])
        #expect(await router.use(new) == ["app", "other"])
        #expect(await failure { () throws(OpenURLError) in try await router.open("app:2") }?.code == .noHandler)
        bus.answer("app:1")
        #expect(try await running.value.handler == "com.example.app")

        // A snapshot that was read before the current snapshot does not replace it. The router still announces the
        // changes of the older snapshot.
        let handlers: [Handler] = [try .test("com.example.app")]
        let old = RegistrySnapshot(number: 1, registry: Registry(handlers: handlers), changed: ["app"])
        #expect(await router.use(old) == ["app"])
        #expect(await failure { () throws(OpenURLError) in try await router.open("app:3") }?.code == .noHandler)
        #expect(await router.use(RegistrySnapshot(number: 3, registry: Registry(handlers: [other]))) == [])
    }
}
