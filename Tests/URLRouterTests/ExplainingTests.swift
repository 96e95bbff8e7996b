import Foundation
import Logging
import OpenURLBus
import Reactor
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The explanation of a URL, which does not open the URL.
@Suite(.timeLimit(.minutes(10))) struct ExplainingTests {
    private let bus: FakeHandlers
    private let router: URLRouter

    init() throws {
        let desktop = try DesktopFixture()
        try desktop.addEntry("org.example.Bus", "DBusActivatable=true")
        try desktop.addCommand("command", "exit 0")
        try desktop.addEntry("org.example.App", "DBusActivatable=true")
        bus = try FakeHandlers(["com.example.app": ":1.1"])
        let handlers: [Handler] = [
            try .test("com.example.app"),
            try .test("com.example.hosts") {
                $0.urlTypes = [URLType(schemes: [try Scheme("app")], hosts: [try HostPattern("*.example.com")])]
            },
            try .test("com.example.private") { $0.allowedSources = [try SourcePattern("com.other.*")] },
            try .test("org.openurl.system.web", program: nil, scheme: "web", scope: .system) { $0.isFixed = true },
        ]
        router = URLRouter(handlers, desktop.applications, on: bus)
    }

    private func explain(_ url: String, _ options: OpenOptions = OpenOptions()) async throws -> Explanation {
        try await router.explain(url, options, caller: ownConnection)
    }

    private func errorCode(of explanation: Explanation) -> OpenURLError.Code? {
        OpenURLError.Code.allCases.first { $0.errorName.rawValue == explanation.error?.name }
    }

    @Test func explanationHasEveryPartExceptThePassword() async throws {
        let explanation = try await explain("app://u:secret@a.example.com:8/p;q?r#f")
        #expect(explanation.url == "app://u:secret@a.example.com:8/p;q?r#f")
        #expect(
            explanation.parts == [
                "scheme": "app", "user": "u", "host": "a.example.com", "port": "8", "path": "/p", "parameters": "q",
                "query": "r", "fragment": "f",
            ]
        )
        #expect(try await explain("APP:x").parts == ["scheme": "APP", "opaquePart": "x", "path": ""])
    }

    @Test func candidatesHaveTheDecidingRule() async throws {
        let explanation = try await explain("app://a.example.com/")
        #expect(explanation.handler == "com.example.hosts")
        #expect(explanation.transport == .known(.native))
        #expect(explanation.state == .known(.notRunning))
        #expect(explanation.allowedSources == nil)
        #expect(explanation.error == nil)
        #expect(
            explanation.candidates.map(\.id) == ["com.example.hosts", "com.example.app", "org.example.App.desktop"]
        )
        #expect(explanation.candidates.map(\.kind.known) == [.native, .native, .freedesktop])
        #expect(explanation.candidates.map(\.host) == ["*.example.com", nil, nil])
        #expect(explanation.candidates.map(\.wins) == [true, false, false])
        #expect(explanation.candidates[0].reason == "the longest matching host comes first")
    }

    @Test func applicationHasATransportAndNoState() async throws {
        for (url, handler, transport) in [
            ("bus:x", "org.example.Bus.desktop", .freedesktop), ("command:x", "command.desktop", .exec),
        ] as [(String, String, HandlerKind)] {
            let explanation = try await explain(url)
            #expect(explanation.handler == handler)
            #expect(explanation.transport == .known(transport))
            #expect(explanation.state == nil)
            #expect(explanation.error == nil)
        }
    }

    /// The user sees the rules and the handlers, and the error has the code of the one that such a sender gets.
    @Test func classOfTheSenderDecides() async throws {
        let handlers: [Handler] = [
            try .test("com.example.app"), try .test("com.example.local") { $0.reach = .local },
        ]
        let router = URLRouter(handlers, try DesktopFixture().applications, on: bus)
        func explain(_ url: String, from senderClass: CallerClass) async throws -> Explanation {
            var options = OpenOptions()
            options.senderClass = senderClass
            return try await router.explain(url, options, caller: ownConnection)
        }
        let remote = try await explain("app:x", from: .remote)
        #expect(remote.handler == "com.example.app")
        #expect(remote.decision == .known(.deny))
        #expect(remote.decisionReason == "the router's own rule about URLs from other hosts")
        #expect(errorCode(of: remote) == .notAllowed)
        let sandboxed = try await explain("app:x", from: .sandboxed)
        #expect(sandboxed.decision == .known(.allow) && sandboxed.error == nil)
        let refused = try await explain("local:x", from: .sandboxed)
        #expect(refused.handler == "com.example.local" && refused.reach == .known(.local))
        #expect(errorCode(of: refused) == .noHandler)
        #expect(refused.error?.message == "com.example.local takes no URLs from a sender of the class sandboxed")
        #expect(try await explain("local:x", from: .user).error == nil)
        let unclaimed = try await explain("nobody:x", from: .sandboxed)
        #expect(unclaimed.error?.message.hasPrefix("no handler claims the scheme nobody;") == true)
    }

    /// A request from another host is refused before anything is looked up, and so does not show what is installed.
    @Test func remoteSenderIsCheckedFirst() async throws {
        func explainRemote(_ url: String, handler: String? = nil) async throws -> Explanation {
            var options = OpenOptions()
            options.senderClass = .remote
            options.handler = handler
            return try await explain(url, options)
        }
        for (url, handler) in [
            ("nobody:x", nil), ("private:x", nil), ("openurl-reply:x", nil), ("https://a.example/", "com.example.app"),
        ] as [(String, String?)] {
            let denied = try await explainRemote(url, handler: handler)
            #expect(errorCode(of: denied) == .notAllowed, "\(url)")
            #expect(denied.decision == .known(.deny), "\(url)")
            #expect(denied.decisionReason == "the router's own rule about URLs from other hosts", "\(url)")
        }
        let page = try await explainRemote("https://a.example/")
        #expect(errorCode(of: page) == .noHandler && page.decision == nil)
    }

    /// A sandbox would learn which handlers it cannot reach.
    @Test func onlyTheUsersProgramsMayAskAboutOtherSenders() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let bus = try FakeHandlers(["com.example.asking": ":1.82"], processes: [":1.82": sandboxed.pid])
        let asking = try Handler.test("com.example.asking") { $0.queriesSchemes = [try Scheme("app")] }
        let router = URLRouter([try .test("com.example.app"), asking], on: bus, examine: { _, _, _ in .descends })
        _ = await router.status()
        var options = OpenOptions()
        #expect(try await router.explain("app:x", options, caller: ":1.82").handler == "com.example.app")
        options.senderClass = .user
        await #expect {
            _ = try await router.explain("app:x", options, caller: ":1.82")
        } throws: { error in
            (error as? OpenURLError)?.code == .notAllowed
        }
    }

    /// A desktop may decode a URL for display and pass on that form. Every other caller has to write a URL.
    @Test func onlyAURLFromTheDesktopIsEscapedAgain() async throws {
        var options = OpenOptions()
        options.desktopEntry = "com.example.app.desktop"
        let explanation = try await explain("app:?Quarterly Report%25#ü", options)
        #expect(explanation.url == "app:?Quarterly%20Report%25#%C3%BC")
        #expect(explanation.parts["query"] == "Quarterly%20Report%25")
        #expect(explanation.handler == "com.example.app")
        await #expect(throws: OpenURLError.self) { try await explain("app:?Quarterly Report") }
        await #expect(throws: OpenURLError.self) { try await explain("no scheme:", options) }
        let request = Task { [options] in try await router.open("app:ü x", options, caller: ":1.99") }
        await bus.wait(for: .opened("app:%C3%BC%20x", at: ":1.1"))
        bus.answer("app:%C3%BC%20x")
        _ = try await request.value
    }

    @Test func explanationNamesTheUsersPick() async throws {
        let handlers = [
            try Handler.test("com.example.a", scheme: "app"), try Handler.test("com.example.b", scheme: "app"),
        ]
        let router = URLRouter(handlers, try DesktopFixture().applications, on: bus)
        func explain(_ entry: String) async throws -> Explanation {
            var options = OpenOptions()
            options.desktopEntry = entry
            return try await router.explain("app:x", options, caller: ownConnection)
        }
        // The desktop's first entry is not a pick.
        let usual = try await explain("com.example.a.desktop")
        #expect(usual.handler == "com.example.a")
        #expect(usual.candidates[0].reason == "the first bundle id in byte order comes first")
        let picked = try await explain("com.example.b.desktop")
        #expect(picked.handler == "com.example.b")
        #expect(picked.candidates[0].reason == "it was asked for; otherwise com.example.a would get this URL")
        #expect(try await explain("org.openurl.Router1.desktop").handler == "com.example.a")
    }

    @Test(arguments: [
        Candidate.Outcome.requested(insteadOf: "com.example.hidden"), .passed(by: "com.example.hidden"),
        .notRequested(by: "com.example.hidden", isUsualWinner: true), .lost(to: "com.example.hidden", by: .host),
    ])
    func reasonForASandboxNamesNoHandler(_ outcome: Candidate.Outcome) {
        #expect(!outcome.namelessReason.isEmpty && !outcome.namelessReason.contains("com.example"))
    }

    @Test func stateIsTheHandlersCurrentState() async throws {
        let request = Task { try await router.open("app:x") }
        await bus.wait(for: .opened("app:x", at: ":1.1"))
        #expect(try await explain("app:y").state == .known(.active))
        bus.answer("app:x")
        _ = try await request.value
    }

    @Test func explanationHasTheReasonAgainstOpening() async throws {
        let unclaimed = try await explain("nobody:x")
        #expect(errorCode(of: unclaimed) == .noHandler)
        #expect(unclaimed.handler == nil)
        #expect(unclaimed.transport == nil)
        #expect(unclaimed.candidates == [])

        let system = try await explain("web:x")
        #expect(errorCode(of: system) == .noHandler)
        #expect(system.handler == nil)
        #expect(system.candidates == [])

        let forbidden = try await explain("private:x")
        #expect(errorCode(of: forbidden) == .notAllowed)
        #expect(forbidden.handler == "com.example.private")
        #expect(forbidden.allowedSources == ["com.other.*"])
    }

    /// The resources of a handler whose bundle has a launch image.
    private func resources(of handler: Handler) throws -> BundleResources {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/Target.app"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data().write(to: URL(filePath: "\(path)/Default.png"))
        let bundle = Handler(
            manifest: handler.manifest,
            path: path,
            entry: path,
            program: nil,
            scope: .user,
            precedence: 0,
            registrationDate: RegistrationDate(nanoseconds: 0)
        )
        return withExtendedLifetime(directory) { BundleResources(of: bundle, languages: []) }
    }

    @Test func sandboxLearnsNeitherPathsNorOtherSenders() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let bus = try FakeHandlers(["com.example.asking": ":1.82"], processes: [":1.82": sandboxed.pid])
        let target = try Handler.test("com.example.target") {
            $0.allowedSources = [try SourcePattern("com.example.asking"), try SourcePattern("com.other.*")]
        }
        let asking = try Handler.test("com.example.asking") { $0.queriesSchemes = [try Scheme("target")] }
        var parts = RouterParts(
            registry: Registry(handlers: [target, asking]),
            bus: bus,
            signals: bus,
            loop: bus.loop,
            environment: [:],
            limits: .patient,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let resources = try resources(of: target)
        parts.resources = { _ in resources }
        parts.examine = { _, _, _ in .descends }
        let router = URLRouter(parts)
        _ = await router.status()
        #expect(await router.callerClass(":1.82") == .sandboxed)
        let shown = try await router.explain("target:x", OpenOptions(), caller: ownConnection)
        #expect(shown.launchImage != nil && shown.allowedSources?.count == 2)
        #expect(shown.programProblem?.hasPrefix("/nonexistent/handler does not exist") == true)
        let hidden = try await router.explain("target:x", OpenOptions(), caller: ":1.82")
        #expect(hidden.handler == "com.example.target" && hidden.error == nil)
        #expect(hidden.launchImage == nil && hidden.allowedSources == nil && hidden.programProblem == nil)
    }

    /// A launch would report the problem only when a URL is opened.
    @Test func programThatCannotBeStartedIsExplained() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let file = try directory.write([], to: "file")
        let open = try directory.write("#!/bin/sh\n", to: "open")
        try #require(chmod(open, 0o757) == 0)
        for (program, problem) in [
            (.path("/nonexistent/handler"), "/nonexistent/handler does not exist"),
            (.path(file), "\(file) is not executable"), (.path(open), "\(open) can be changed by every user"),
            (.nameOnPath("nonexistent-handler"), "nonexistent-handler is not in any directory on PATH"),
            (.path("/bin/sh"), nil),
        ] as [(Handler.Program, String?)] {
            let command = try Handler.test("com.example.command", program: program) {
                $0.command = try HandlerCommand(["program", "%u"])
            }
            let router = URLRouter([try .test("com.example.native", program: program), command], on: bus)
            for url in ["native:x", "command:x"] {
                let explanation = try await router.explain(url, OpenOptions(), caller: ownConnection)
                // The advice follows.
                let fact = explanation.programProblem?.split(separator: "; ").first.map(String.init)
                #expect(fact == problem, "\(url)")
                #expect(explanation.error == nil, "\(url)")
            }
        }
    }

    /// Programs that ask for explanations must not keep the handler from being started.
    @Test func explanationUsesNoneOfTheHandlersStarts() async throws {
        // This is all that one handler may have.
        await router.beginStarts(32, of: "com.example.app")
        #expect(try await explain("app:y").programProblem != nil)
    }

    /// The process takes the URL, whatever has happened to its program's file.
    @Test func runningHandlerNeedsNoProgram() async throws {
        #expect(try await explain("app:y").programProblem != nil)
        let request = Task { try await router.open("app:x") }
        await bus.wait(for: .opened("app:x", at: ":1.1"))
        #expect(try await explain("app:y").programProblem == nil)
        bus.answer("app:x")
        _ = try await request.value
    }

    @Test func explanationMayNameAHandler() async throws {
        var options = OpenOptions()
        options.handler = "com.example.app"
        let asked = try await explain("app://a.example.com/", options)
        #expect(asked.handler == "com.example.app")
        #expect(asked.candidates.map(\.id) == ["com.example.app", "com.example.hosts", "org.example.App.desktop"])
        #expect(asked.candidates.map(\.wins) == [true, false, false])
        #expect(
            asked.candidates.map(\.reason) == [
                "it was asked for; otherwise com.example.hosts would get this URL",
                "com.example.app was asked for; otherwise this one would get the URL", "com.example.app was asked for",
            ]
        )
        options.handler = "com.example.hosts"
        let usual = try await explain("app://a.example.com/", options)
        #expect(usual.candidates[0].reason == "it was asked for, and would get this URL anyway")
        options.handler = "com.example.private"
        let other = try await explain("app:x", options)
        #expect(other.handler == nil)
        #expect(other.candidates.map(\.wins) == [false, false])
        #expect(errorCode(of: other) == .noHandler)
    }

    @Test(arguments: ["a b", "", "//host/"]) func malformedURLHasNoExplanation(_ text: String) async throws {
        await #expect {
            _ = try await explain(text)
        } throws: { error in
            (error as? OpenURLError)?.code == .malformedURL
        }
    }

    @Test func explanationStartsAndSendsNothing() async throws {
        for url in ["app:x", "bus:x", "command:x", "private:x"] { _ = try await explain(url) }
        #expect(bus.opened == [])
        #expect(bus.count(of: .started("org.example.Bus")) == 0)
        #expect(bus.count(of: .askedForOwner("com.example.app")) == 0)
        #expect(await router.startsNothing)
    }
}

extension URLRouter {
    fileprivate func beginStarts(_ count: Int, of account: String) {
        launcher.starts.withLock { $0.add(count, to: account) }
    }
}
