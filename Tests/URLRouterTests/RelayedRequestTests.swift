import Foundation
import Glibc
import Logging
import OpenURLBus
import Policy
import Reactor
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// Requests that a relay passes on for another machine or a container.
@Suite(.timeLimit(.minutes(10))) struct RelayedRequestTests {
    /// A connection of this process, which is a program of the user: the relay.
    private static let relay: BusName = ":1.60"
    private static let target: BusName = ":1.1"
    private static let web: BusName = ":1.2"

    private let directory: TemporaryDirectory
    private let person: FakePerson
    private let bus: FakeHandlers

    init() throws {
        directory = try TemporaryDirectory()
        person = FakePerson()
        bus = try FakeHandlers(
            ["com.example.target": Self.target, "com.example.web": Self.web],
            processes: [Self.relay: UInt32(getpid()), Self.target: 1, Self.web: 1]
        )
    }

    private func router(
        _ rules: String = "",
        person: FakePerson? = nil,
        desktop: DesktopFixture? = nil
    ) async throws -> URLRouter {
        try Data(rules.utf8).write(to: URL(filePath: "\(directory.path)/policy.conf"))
        let store = PolicyStore(
            PolicyFiles(administratorsDirectory: "\(directory.path)/etc", usersDirectory: directory.path),
            answersDirectory: directory.path,
            on: try EventLoop(),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let handlers: [Handler] = [
            try .test("com.example.target"),
            try .test("com.example.hosts") {
                $0.urlTypes = [URLType(schemes: [try Scheme("hosts")], hosts: [try HostPattern("work")])]
            },
            // Only the system's handler can claim the schemes of browsers.
            try .test("com.example.web", scheme: "https", scope: .system) { $0.isFixed = true },
        ]
        let router = URLRouter(
            handlers,
            desktop?.applications ?? DesktopApplications(),
            on: bus,
            environment: desktop?.environment ?? [:],
            policy: store,
            person: person ?? self.person
        )
        await router.load()
        return router
    }

    private func error(_ router: URLRouter, _ source: String, _ url: String) async -> OpenURLError? {
        do {
            _ = try await router.openRelayed(source, url, OpenOptions(), caller: Self.relay)
            return nil
        } catch {
            return error as? OpenURLError
        }
    }

    @Test(arguments: [
        ("host:Box", "The computer box", "host:box"), ("container:Dev", "The container Dev", "container:Dev"),
    ])
    func questionNamesThePlace(_ source: String, _ words: String, _ name: String) async throws {
        let router = try await router()
        let request = Task {
            try await router.openRelayed(source, "https://example.com/", OpenOptions(), caller: Self.relay)
        }
        try await person.wait(forQuestions: 1)
        #expect(person.asked.map(\.sender) == [words])
        #expect(person.asked.map { "\($0.key.pattern)" } == ["https://example.com from \(name)"])
        person.reply(.always)
        await bus.wait(for: .opened("https://example.com/", at: Self.web))
        bus.answer("https://example.com/")
        _ = try await request.value
        // The answer is for this place only.
        let next = Task {
            try await router.openRelayed(source, "https://example.com/2", OpenOptions(), caller: Self.relay)
        }
        await bus.wait(for: .opened("https://example.com/2", at: Self.web))
        bus.answer("https://example.com/2")
        _ = try await next.value
        #expect(person.asked.count == 1)
        let other = try await self.router(person: FakePerson(always: .no))
        #expect(await error(other, "host:other", "https://example.com/3")?.code == .notAllowed)
    }

    @Test func otherSchemesNeedARule() async throws {
        let router = try await router("allow target://yes from container:dev\n", person: FakePerson(always: .once))
        // Whether a handler has the scheme makes no difference.
        for url in ["target:x", "nothing:x", "file:///etc/passwd", "openurl-reply://x/success", "target://yes/"] {
            let scheme = url.prefix { $0 != ":" }
            let refusal = try #require(await error(router, "host:dev", url), "\(url)")
            #expect(
                refusal.code == .notAllowed && refusal.message.hasPrefix("the policy does not allow it; "),
                "\(scheme)"
            )
        }
        #expect(bus.opened == [])
        let request = Task {
            try await router.openRelayed("container:dev", "target://yes/", OpenOptions(), caller: Self.relay)
        }
        await bus.wait(for: .opened("target://yes/", at: Self.target))
        bus.answer("target://yes/")
        _ = try await request.value
    }

    @Test func relayLearnsThatAProgramHasTheURL() async throws {
        let desktop = try DesktopFixture()
        try desktop.addPipe("end")
        try desktop.addCommand("page", #"read line < "$desktop/end""#)
        let router = try await router("allow page from host:box\n", desktop: desktop)
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "relay_1")
        let path = try #require(options.handleToken.flatMap { RequestInterface.path(of: Self.relay, $0) })
        let request = Task { [options] in
            try await router.openRelayed("host:box", "page:x", options, caller: Self.relay)
        }
        // The command is still running.
        await bus.wait(for: .reportedStart(path, to: Self.relay))
        try desktop.write(to: "end")
        #expect(try await request.value.way == .completed)
        // Another caller has no use for it, nor has a relay whose URL is refused.
        try desktop.write(to: "end")
        _ = try await router.openURL("page:y", options, caller: Self.relay)
        await #expect(throws: OpenURLError.self) {
            try await router.openRelayed("host:other", "page:z", options, caller: Self.relay)
        }
        #expect(bus.count(of: .reportedStart(path, to: Self.relay)) == 0)
    }

    @Test func rulesForTheRelayDoNotCount() async throws {
        let router = try await router("allow * from user\n", person: FakePerson(always: nil))
        #expect(await error(router, "host:box", "target:x")?.code == .notAllowed)
        #expect(await error(router, "host:box", "https://example.com/")?.code == .notAllowed)
        #expect(bus.opened == [])
    }

    @Test(arguments: ["", "user", "*", "com.example.target", "app:x", "host:", "host:a b", "container:", "handler"])
    func otherSourcesAreRefused(_ source: String) async throws {
        let router = try await router()
        await #expect(throws: RemoteError.self) {
            try await router.openRelayed(source, "https://example.com/", OpenOptions(), caller: Self.relay)
        }
        await #expect(throws: RemoteError.self) { try await router.canOpenRelayed(source, "https://example.com/") }
    }

    @Test func canOpenTellsOnlyOfItsOwnSchemes() async throws {
        let router = try await router("allow target from host:box\n")
        #expect(try await router.canOpenRelayed("host:box", "https://example.com/"))
        #expect(try await router.canOpenRelayed("host:box", "target:x"))
        for url in ["nothing:x", "file:///etc/passwd", "openurl-reply://x/success"] {
            #expect(try await !router.canOpenRelayed("host:box", url))
        }
        #expect(try await !router.canOpenRelayed("host:other", "target:x"))
    }

    @Test(arguments: [
        ("https://a.example/?redirect_uri=own%3A%2F%2Fauth", "no state"),
        ("https://a.example/?redirect_uri=own%3A%2F%2Fauth&state=", "an empty state"),
        ("https://a.example/?redirect_uri=target%3A%2F%2Fauth&state=s", "a handler's scheme"),
        ("https://a.example/?redirect_uri=https%3A%2F%2Fbank.example%2F&state=s", "a web page"),
        ("target:?redirect_uri=own%3A%2F%2Fauth&state=s", "no web page"),
    ])
    func foreignCallbacksAreRefused(_ url: String, _ reason: String) async throws {
        let router = try await router("allow * from remote\n")
        await #expect(throws: OpenURLError.self, "\(reason)") {
            try await router.requestRelayedCallback("host:box", url, CallbackOptions(), caller: Self.relay)
        }
        #expect(bus.opened == [])
    }

    @Test func schemeOfAHandlerForOtherHostsIsTaken() async throws {
        let router = try await router("allow * from remote\n", person: FakePerson(always: .no))
        let url = "https://a.example/?redirect_uri=hosts%3A%2F%2Fauth&state=s"
        await #expect {
            _ = try await router.requestRelayedCallback("host:box", url, CallbackOptions(), caller: Self.relay)
        } throws: { error in
            (error as? OpenURLError)?.code == .notAllowed
        }
    }
}
