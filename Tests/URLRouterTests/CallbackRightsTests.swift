import Foundation
import Logging
import OpenURLBus
import Policy
import Reactor
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The programs that may wait for the URLs of a scheme, by the class of the caller.
@Suite(.timeLimit(.minutes(5))) struct CallbackRightsTests {
    private static let handler: BusName = ":1.81"
    private static let sandbox: BusName = ":1.82"
    private static let unknown: BusName = ":1.83"

    /// Returns the cause for which a caller may not claim a pattern; nil if the caller may.
    private func code(_ router: URLRouter, _ pattern: String, of caller: BusName?) async throws -> OpenURLError.Code? {
        do {
            _ = try await router.requestCallback("", pattern, CallbackOptions(), caller: caller)
            return nil
        } catch let error as OpenURLError {
            return error.code
        }
    }

    @Test func handlerClaimsItsOwnSchemesAlone() async throws {
        let child = try RunningProcess()
        defer { child.end() }
        let bus = try FakeHandlers(["com.example.app": Self.handler], processes: [Self.handler: child.pid])
        let handlers = [try Handler.test("com.example.app"), try Handler.test("com.example.other")]
        let router = URLRouter(handlers, on: bus, examine: { _, _, _ in .descends })
        _ = await router.status()
        #expect(await router.callerClass(Self.handler) == .handler)
        for (pattern, expected): (String, OpenURLError.Code?) in [
            ("app://auth", .limitsExceeded), ("com.example.app:/cb", .limitsExceeded), ("other://auth", .notAllowed),
            ("unclaimed", .notAllowed), ("https://example.com", .notAllowed),
        ] {
            // The bus of the test tells no end of this connection, so a claim that is allowed ends at once.
            let code = try await code(router, pattern, of: Self.handler)
            #expect(code == expected || code == nil && expected == .limitsExceeded, "\(pattern)")
        }
    }

    @Test func sandboxWithoutAnIdentifierAndUnknownProgramClaimNothing() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let bus = try FakeHandlers([:], processes: [Self.sandbox: sandboxed.pid, Self.unknown: .max])
        let router = URLRouter([try .test("com.example.app")], on: bus)
        #expect(await router.callerClass(Self.sandbox) == .sandboxed)
        for caller in [Self.sandbox, Self.unknown, nil] {
            for pattern in ["app://auth", "unclaimed", "http://127.0.0.1/cb"] {
                #expect(try await code(router, pattern, of: caller) == .notAllowed)
            }
        }
    }

    // MARK: The owner of the URLs

    /// A running handler with the identifier `com.example.app`, which claims the scheme `app` as some other handlers do.
    private func router(
        beside others: [Handler],
        child: RunningProcess,
        rules: String = ""
    ) async throws -> (URLRouter, FakeHandlers) {
        let owners: [BusName: BusName] = ["com.example.app": Self.handler, Self.handler: Self.handler]
        let bus = try FakeHandlers(owners, processes: [Self.handler: child.pid])
        let directory = try TemporaryDirectory()
        try rules.write(toFile: "\(directory.path)/policy.conf", atomically: false, encoding: .utf8)
        let policy = PolicyStore(
            PolicyFiles(administratorsDirectory: "\(directory.path)/etc", usersDirectory: directory.path),
            answersDirectory: directory.path,
            on: try EventLoop(),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let router = URLRouter(
            others + [try .test("com.example.app")],
            on: bus,
            policy: policy,
            examine: { _, _, _ in .descends }
        )
        await router.load()
        _ = await router.status()
        #expect(await router.callerClass(Self.handler) == .handler)
        return (router, bus)
    }

    @Test func claimantThatIsNotTheWinnerClaimsNothing() async throws {
        let child = try RunningProcess()
        defer { child.end() }
        // The handler with the first identifier gets the URLs.
        let first = try Handler.test("com.acme.app")
        for rules in ["", "allow app from com.example.app\nallow app from *\n"] {
            let (router, _) = try await router(beside: [first], child: child, rules: rules)
            for pattern in ["app", "app:", "app://auth", "app://auth/done", "app:/done"] {
                #expect(try await code(router, pattern, of: Self.handler) == .notAllowed, "\(pattern)")
            }
        }
    }

    @Test func claimForEveryHostGetsNoURLsOfAnotherHandlersHost() async throws {
        let child = try RunningProcess()
        defer { child.end() }
        let other = try Handler.test("com.acme.hosts", scheme: "app") {
            $0.urlTypes = [URLType(schemes: [try Scheme("app")], hosts: [try HostPattern("*.acme.com")])]
        }
        let (router, bus) = try await router(beside: [other], child: child)
        #expect(try await code(router, "app://a.acme.com", of: Self.handler) == .notAllowed)
        #expect(try await code(router, "app", of: Self.handler) == nil)
        // The handler of the host is not there, so the URL has nobody to go to.
        let error = await failure { () async throws(OpenURLError) in try await router.open("app://a.acme.com/") }
        #expect(error?.code == .launchFailed)
        #expect(try await router.open("app://auth/").way == .callback)
        await bus.wait(for: .completed(.received, "app://auth/", error: nil, to: Self.handler))
    }

    @Test func claimEndsWhenTheURLsGetAnotherOwner() async throws {
        let child = try RunningProcess()
        defer { child.end() }
        let (router, bus) = try await router(beside: [], child: child)
        for pattern in ["app", "com.example.app:/done"] {
            #expect(try await code(router, pattern, of: Self.handler) == nil)
        }
        let handlers: [Handler] = [try .test("com.acme.app"), try .test("com.example.app")]
        _ = await router.use(RegistrySnapshot(number: 1, registry: Registry(handlers: handlers)))
        let refused = OpenURLError.Code.notAllowed.errorName
        await bus.wait(for: .completed(.failed, "", error: refused, to: Self.handler))
        #expect(try await router.open("com.example.app:/done").way == .callback)
    }

    @Test func ruleForAHostHoldsForAClaimOfEveryHost() async throws {
        let child = try RunningProcess()
        defer { child.end() }
        let rules = "deny app://secret from com.example.app\n"
        let (router, bus) = try await router(beside: [], child: child, rules: rules)
        #expect(try await code(router, "app://secret", of: Self.handler) == .notAllowed)
        #expect(try await code(router, "app", of: Self.handler) == nil)
        let open = Task { try await router.open("app://secret/") }
        await bus.wait(for: .opened("app://secret/", at: Self.handler))
        bus.answer("app://secret/")
        #expect(try await open.value.way != .callback)
        #expect(try await router.open("app://auth/").way == .callback)
    }

    @Test func programOfTheUserNeedsARuleThatNamesItsClass() async throws {
        let child = try RunningProcess()
        defer { child.end() }
        for (rules, expected): (String, OpenURLError.Code?) in [
            ("", .notAllowed), ("allow * from user\n", .notAllowed), ("allow app from *\n", .notAllowed),
            ("allow app from user\n", nil),
        ] {
            let (router, bus) = try await router(beside: [], child: child, rules: rules)
            bus.setOwner(of: ownConnection, to: ownConnection)
            #expect(try await code(router, "app", of: ownConnection) == expected, "\(rules)")
        }
    }

    @Test func sandboxGetsOneAnswer() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let bus = try FakeHandlers([:], processes: [Self.sandbox: sandboxed.pid])
        let fixed = try Handler.test("org.openurl.system.web", program: nil, scheme: "web", scope: .system) {
            $0.isFixed = true
        }
        let router = URLRouter([try .test("com.example.app"), fixed], on: bus)
        var answers: Set<String> = []
        for pattern in ["app", "web", "unclaimed", "https", "http://127.0.0.1/cb", "app://auth"] {
            let error = await #expect(throws: OpenURLError.self) {
                try await router.requestCallback("", pattern, CallbackOptions(), caller: Self.sandbox)
            }
            answers.insert(error.map { "\($0.code) \($0.message)" } ?? "")
        }
        #expect(answers.count == 1, "\(answers)")
    }

    @Test func sandboxDoesNotLearnThatAProgramWaits() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let bus = try FakeHandlers([ownConnection: ownConnection], processes: [Self.sandbox: sandboxed.pid])
        let router = URLRouter([], on: bus)
        var options = CallbackOptions()
        options.state = "s1"
        _ = try await router.requestCallback("", "bank://auth", options, caller: ownConnection)
        var answers: Set<String> = []
        for url in ["bank://auth/x", "bank://auth?state=s2", "bank://other", "nothing:x"] {
            let error = await failure { () async throws(OpenURLError) in try await router.open(url, from: Self.sandbox)
            }
            answers.insert(error.map { "\($0.code) \($0.message)" } ?? "")
        }
        #expect(answers.count == 1, "\(answers)")
        // The program that waits learns it, and once for all.
        _ = await failure { () async throws(OpenURLError) in try await router.open("bank://auth", from: Self.sandbox) }
        let refused = OpenURLError.Code.notAllowed.errorName
        #expect(bus.count(of: .refused(error: refused, to: ownConnection)) == 1)
        #expect(try await router.open("bank://auth?state=s1", from: Self.sandbox).way == .callback)
    }

    /// If the program that waits does not take a URL from a sandbox, the handler of the scheme gets it, but not if the
    /// URL is a callback.
    @Test func refusedCallbackOfASandboxGoesToNobody() async throws {
        let child = try RunningProcess()
        defer { child.end() }
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let answering = try Handler.test("com.example.answering") { $0.answersCallbacks = true }
        let (router, bus) = try await router(beside: [answering], child: child, rules: "allow app from user\n")
        bus.setOwner(of: ownConnection, to: ownConnection)
        bus.setProcess(of: Self.sandbox, to: sandboxed.pid)
        bus.setOwner(of: "com.example.answering", to: Self.sandbox)
        var options = CallbackOptions()
        options.state = "s1"
        _ = try await router.requestCallback("", "app://ok", options, caller: ownConnection)
        let url = "answering://x-callback-url/go?x-success=app://ok"
        let request = Task { try await router.open(url) }
        await bus.wait(for: .opened(url, at: Self.sandbox))
        bus.answer(url)
        _ = try await request.value
        await bus.wait(for: .refused(error: OpenURLError.Code.notAllowed.errorName, to: ownConnection))
        // The callback would come first, and would keep the next URL waiting.
        let next = Task { try await router.open("app:next") }
        await bus.wait(for: .opened("app:next", at: Self.handler))
        bus.answer("app:next")
        _ = try await next.value
        #expect(bus.opened == [])
    }

    /// A question has the answer that the URL itself would have.
    @Test func questionAboutAURLFollowsTheClaim() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let bus = try FakeHandlers(
            ["com.example.app": Self.sandbox, ownConnection: ownConnection],
            processes: [Self.sandbox: sandboxed.pid]
        )
        let app = try Handler.test("com.example.app") { $0.queriesSchemes = [try Scheme("bank")] }
        let router = URLRouter([app], on: bus, examine: { _, _, _ in .descends })
        _ = await router.status()
        #expect(await router.callerClass(Self.sandbox) == .sandboxed)
        var options = CallbackOptions()
        options.state = "s1"
        _ = try await router.requestCallback("", "bank://auth", options, caller: ownConnection)
        for (state, isRight) in [("s1", true), ("s2", false)] {
            let url = "bank://auth?state=\(state)"
            for caller in [Self.sandbox, ownConnection] {
                #expect(try await router.canOpen(url, caller: caller) == isRight)
                let explained = try await router.explain(url, OpenOptions(), caller: caller)
                #expect(explained.handler == (isRight ? CallbackInterface.handler : nil))
                // Only a program that is not confined learns that another one waits.
                let code: OpenURLError.Code? = isRight ? nil : caller == Self.sandbox ? .noHandler : .notAllowed
                #expect(explained.error?.name == code?.errorName.rawValue)
            }
        }
    }
}
