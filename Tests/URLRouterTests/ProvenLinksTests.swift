import Foundation
import Links
import OpenURLBus
import RFC1808
import Reactor
import SchemeRegistry
import Synchronization
import TestSupport
import Testing
import WebLinks

@testable import DBus
@testable import URLRouter

/// The links to web pages that handlers get instead of the browser.
@Suite(.timeLimit(.minutes(10))) struct ProvenLinksTests {
    private static let app = "com.example.app"
    private static let host = "example.com"
    private static let link = "https://example.com/notes/1"
    private static let browser = "https.desktop"
    private static let day: UInt64 = 86_400_000

    /// Options with a focus token.
    private static var token: OpenOptions {
        var options = OpenOptions()
        options.activationToken = "token"
        return options
    }

    private static var now: UInt64 { UInt64(clamping: WallClock.milliseconds) }

    /// Sites that answer what a test says, and count the questions.
    private final class Sites: SiteAsking {
        private let state = Mutex<(asked: [(String, [String])], answers: [String: SiteAnswer.Outcome])>(([], [:]))

        var isPossible: Bool { true }
        var asked: [(host: String, handlers: [String])] { state.withLock { $0.asked } }

        func set(_ host: String, _ outcome: SiteAnswer.Outcome?) {
            state.withLock { $0.answers[host] = outcome }
        }

        func ask(_ host: WebHost, about handlers: [String]) async -> SiteAnswer? {
            state.withLock { state in
                state.asked.append((host.rawValue, handlers))
                return state.answers[host.rawValue].map { SiteAnswer(host, $0) }
            }
        }
    }

    /// A router with a browser, and with handlers that claim links.
    private final class Session: Sendable {
        let bus: FakeHandlers
        let router: URLRouter
        let sites = Sites()
        let log = RecordedLog()
        let directory: TemporaryState

        init(
            _ handlers: [Handler]? = nil,
            stored: [LinkProof] = [],
            in directory: TemporaryState = TemporaryState(),
            processes: [BusName: UInt32] = [:],
            answer: SiteAnswer.Outcome? = nil,
            rules: String? = nil,
            prepare: (Session.File) throws -> Void = { _ in }
        ) async throws {
            self.directory = directory
            let desktop = try DesktopFixture()
            try desktop.addCommand("https", #"echo "${XDG_ACTIVATION_TOKEN-none}" > "$desktop/token""#)
            try desktop.addCommand("failing", "exit 127")
            try desktop.addEntry("missing", "Exec=sh -c : %u", "Path=/nonexistent/directory")
            try desktop.addEntry("org.example.lacking", "DBusActivatable=true")
            bus = try FakeHandlers([BusName(ProvenLinksTests.app)!: ":1.1"], processes: processes)
            let store = Self.store(in: directory, log)
            if !stored.isEmpty { try await store.save(stored) }
            await store.release()
            try prepare(File(path: "\(directory.path)/links"))
            var limits = RouterLimits.patient
            // The browser's command always ends, so its exit decides.
            limits.settleTime = .seconds(3600)
            limits.openTimeout = .seconds(3600)
            var parts = RouterParts(
                registry: Registry(
                    handlers: try handlers ?? [ProvenLinksTests.handler()],
                    applications: desktop.applications
                ),
                bus: bus,
                signals: bus,
                loop: bus.loop,
                environment: desktop.environment,
                limits: limits,
                log: log.logger
            )
            parts.stores.proofs = Self.store(in: directory, log)
            parts.sites = sites
            if let rules {
                try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
                let file = "\(directory.path)/links.conf"
                try rules.write(toFile: file, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
                let files = LinkFiles(
                    administratorsDirectory: "/nonexistent/links.d",
                    usersDirectory: directory.path
                )
                parts.stores.links = LinkStore(files, on: directory.loop, log: log.logger)
            }
            parts.examine = { _, _, _ in .descends }
            router = URLRouter(parts)
            self.desktop = desktop.path
            withExtendedLifetime(desktop) {}
            fixture = Mutex(desktop)
            await router.load()
            await router.readLinkRules()
            guard let answer else { return }
            sites.set(ProvenLinksTests.host, answer)
            await router.startProofs()
            await router.wait { [sites] in !sites.asked.isEmpty && $0.provenLinks.asking.isEmpty }
        }

        /// Keeps the files of the desktop.
        private let fixture: Mutex<DesktopFixture>
        let desktop: String

        struct File { let path: String }

        private static func store(in directory: TemporaryState, _ log: RecordedLog) -> ProofStore {
            ProofStore(path: "\(directory.path)/links", on: directory.loop, log: log.logger)
        }

        /// Opens a URL with a handler that takes it, or with the browser, and returns the one that got it.
        func open(
            _ url: String = ProvenLinksTests.link,
            _ options: OpenOptions = OpenOptions(),
            from caller: BusName = ownConnection
        ) async throws -> String {
            let explained = try await router.explain(url, options, caller: caller).handler
            guard explained != ProvenLinksTests.browser else {
                return try await router.open(url, options, caller: caller).handler
            }
            let request = Task { try await router.open(url, options, caller: caller) }
            await bus.wait(for: .opened(url, at: ":1.1"))
            bus.answer(url)
            let handler = try await request.value.handler
            #expect(handler == explained)
            return handler
        }

        /// The line with the focus token that the browser got.
        var browsersToken: String {
            get throws { try String(contentsOfFile: "\(desktop)/token", encoding: .utf8) }
        }

        func reasons(_ url: String = ProvenLinksTests.link) async throws -> [String] {
            try await router.explain(url, OpenOptions(), caller: ownConnection).candidates.map(\.reason)
        }
    }

    private static func handler(
        _ id: String = app,
        claiming claims: [String] = [host],
        byAdministrator: Bool = false,
        program: String = "/nonexistent/handler",
        _ change: (inout HandlerManifest) throws -> Void = { _ in }
    ) throws -> Handler {
        var manifest = HandlerManifest(identifier: try BundleIdentifier(id), executable: nil)
        manifest.associatedDomains = try claims.map { try AssociatedDomain($0) }
        manifest.suspendDelay = .seconds(3600)
        try change(&manifest)
        return Handler(
            manifest: manifest,
            path: "/handlers/\(id).plist",
            entry: "/handlers/\(id).plist",
            program: .path(program),
            scope: byAdministrator ? .system : .user,
            precedence: 0,
            registrationDate: RegistrationDate(nanoseconds: 0),
            isInstalledByAdministrator: byAdministrator
        )
    }

    /// A site's proof that counts.
    private static func proof(
        _ handler: String = app,
        _ change: (inout LinkProof) -> Void = { _ in }
    ) -> LinkProof {
        var proof = LinkProof(handler: handler, host: host, manifest: "/handlers/\(handler).plist")
        proof.rules = ["- /notes/admin/*", "+ /notes/*"]
        (proof.confirmed, proof.asked) = (now, now)
        change(&proof)
        return proof
    }

    // MARK: Who gets a link

    @Test func withoutAProofTheBrowserGetsTheLink() async throws {
        let session = try await Session()
        #expect(try await session.open() == Self.browser)
        #expect(
            try await session.reasons().last?.contains("there is no proof: example.com has not been asked yet") == true
        )
    }

    @Test func personAllowsAndRevokes() async throws {
        let session = try await Session()
        try await session.router.decide(Self.host, Self.app, .allow)
        #expect(try await session.open() == Self.app)
        #expect(try await session.open("https://EXAMPLE.com:443/any?q#f") == Self.app)
        try await session.router.decide("EXAMPLE.COM", "", .deny)
        #expect(try await session.open() == Self.browser)
        #expect(try await session.reasons().last?.contains("revoke") == true)
        try await session.router.decide(Self.host, Self.app, nil)
        #expect(try await session.open() == Self.browser)
    }

    @Test func decisionIsKept() async throws {
        let directory = TemporaryState()
        let first = try await Session(in: directory)
        try await first.router.decide(Self.host, Self.app, .allow)
        await first.router.stopProofs()
        let second = try await Session(in: directory)
        #expect(try await second.open() == Self.app)
        let file = "\(directory.path)/links"
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    }

    @Test func administratorsHandlerGetsItsLinks() async throws {
        let session = try await Session([try Self.handler(byAdministrator: true)])
        #expect(try await session.open() == Self.app)
        try await session.router.decide(Self.host, "", .deny)
        #expect(try await session.open() == Self.browser)
    }

    @Test(arguments: [
        "https://example.com/notes/1", "https://EXAMPLE.com/notes/", "https://example.com:443/notes/a/b?x=/../#/..",
        "https://example.com/%6Eotes/1",
    ])
    func siteGivesAPath(_ url: String) async throws {
        let session = try await Session(stored: [Self.proof()])
        #expect(try await session.open(url) == Self.app)
    }

    @Test(arguments: [
        "https://example.com/", "https://example.com/notes", "https://example.com/Notes/1",
        "https://example.com/notes/admin/1",
        "https://example.com/notes/ADMIN/1", "https://example.com/notes/%61dmin/1", "https://example.com/x/../notes/1",
        "https://example.com/notes/../admin", "https://example.com/notes/%2e%2e/admin", "https://example.com//notes/1",
        "https://example.com/notes//1", "https://example.com/notes%2F1", "https://example.com/notes/%252e%252e/x",
        "https://example.com/notes/a%5C..%5Cb", "https://example.com/notes/1;a=b", "https://example.com/notes/%00",
        "https://example.com/notes/%C0%AE%C0%AE/", "https://example.com:8443/notes/1", "https://example.com:/notes/1",
        "https://example.com./notes/1", "https://www.example.com/notes/1", "https://example.com.evil.example/notes/1",
        "https://evil.example/notes/1", "https://example.com@evil.example/notes/1", "https://u@example.com/notes/1",
        "https://ex%61mple.com/notes/1", "https://xn--exmple-cua.com/notes/1", "https:/example.com/notes/1",
        "https:///example.com/notes/1",
    ])
    func browserGetsEveryOtherLink(_ url: String) async throws {
        let session = try await Session(stored: [Self.proof()])
        #expect(try await session.open(url) == Self.browser)
    }

    @Test func schemeIsHTTPSOnly() async throws {
        let session = try await Session(stored: [Self.proof()])
        let error = await failure { () throws(OpenURLError) in
            try await session.router.open("http://example.com/notes/1")
        }
        #expect(error?.code == .noHandler)
    }

    @Test func manifestLimitsThePathsToo() async throws {
        let session = try await Session(
            [try Self.handler(claiming: ["example.com/notes/shared/*"])],
            stored: [Self.proof()]
        )
        #expect(try await session.open("https://example.com/notes/shared/1") == Self.app)
        #expect(try await session.open("https://example.com/notes/1") == Self.browser)
    }

    private enum Flaw: CaseIterable {
        case tooOld, neverConfirmed, inTheFuture, otherManifest, forAdministrators, noRules, damagedRules, otherHost,
            strangeHost, otherHandler

        func change(_ proof: inout LinkProof) {
            switch self {
            case .tooOld: proof.confirmed = now - 31 * day
            case .neverConfirmed: proof.confirmed = nil
            case .inTheFuture: proof.confirmed = now + 2 * day
            case .otherManifest: proof.manifest = "/elsewhere.plist"
            case .forAdministrators: proof.isForAdministratorsOnly = true
            case .noRules: proof.rules = []
            case .damagedRules: proof.rules = ["+ notes"]
            case .otherHost: proof.host = "example.org"
            case .strangeHost: proof.host = "Example.com"
            case .otherHandler: proof.handler = "com.example.other"
            }
        }
    }

    @Test(arguments: Flaw.allCases) private func storedProofDoesNotCount(_ flaw: Flaw) async throws {
        let session = try await Session(stored: [Self.proof(Self.app, flaw.change)])
        #expect(try await session.open() == Self.browser)
    }

    @Test func proofCountsFor30Days() async throws {
        let session = try await Session(stored: [Self.proof { $0.confirmed = Self.now - 29 * Self.day }])
        #expect(try await session.open() == Self.app)
    }

    @Test func narrowestPatternWinsAndThePersonDecides() async throws {
        let other = "com.example.other"
        let handlers = [try Self.handler(other), try Self.handler()]
        var wide = Self.proof(other)
        wide.rules = ["+ /*"]
        let session = try await Session(handlers, stored: [wide, Self.proof()])
        #expect(try await session.open() == Self.app)
        #expect(
            try await session.router.explain(Self.link, OpenOptions(), caller: ownConnection).candidates.map(\.wins)
                == [true, false, false]
        )
        #expect(
            try await session.router.explain("https://example.com/x", OpenOptions(), caller: ownConnection).handler
                == other
        )
        try await session.router.decide(Self.host, other, .allow)
        #expect(try await session.router.explain(Self.link, OpenOptions(), caller: ownConnection).handler == other)
    }

    @Test func handlerThatRefusesTheSenderLeavesTheLinkToTheBrowser() async throws {
        let session = try await Session([try Self.handler { $0.allowedSources = [] }], stored: [Self.proof()])
        #expect(try await session.open() == Self.browser)
    }

    // MARK: The browser is one step away

    @Test func senderCanAskForTheBrowser() async throws {
        let session = try await Session(stored: [Self.proof()])
        var options = OpenOptions()
        options.inBrowser = true
        #expect(try await session.open(Self.link, options) == Self.browser)
    }

    @Test func handlerThatOpensItsOwnLinkGetsTheBrowser() async throws {
        let session = try await Session(stored: [Self.proof()], processes: [":1.1": 1, ":1.9": 1])
        #expect(await session.router.status().map(\.id) == [Self.app])
        #expect(try await session.router.open(Self.link, OpenOptions(), caller: ":1.1").handler == Self.browser)
        #expect(try await session.router.open(Self.link, OpenOptions(), caller: ":1.9").handler == Self.browser)
        #expect(try await session.open() == Self.app)
    }

    @Test func browserOpensALinkWhoseHandlerCannotBeStarted() async throws {
        let session = try await Session(
            [try Self.handler("com.example.missing")],
            stored: [Self.proof("com.example.missing")]
        )
        #expect(try await session.router.open(Self.link, Self.token, caller: ownConnection).handler == Self.browser)
        // No other program has received the token.
        #expect(try session.browsersToken == "token\n")
    }

    @Test func browserOpensALinkWhoseHandlerExitsAtOnce() async throws {
        let session = try await Session(
            [try Self.handler("com.example.missing", program: "/bin/false")],
            stored: [Self.proof("com.example.missing")]
        )
        #expect(try await session.router.open(Self.link, Self.token, caller: ownConnection).handler == Self.browser)
        // The process had the token in its environment.
        #expect(try session.browsersToken == "none\n")
    }

    @Test func browserOpensALinkThatTheHandlerDeclines() async throws {
        let session = try await Session(stored: [Self.proof()])
        let request = Task { try await session.router.open(Self.link, Self.token, caller: ownConnection) }
        await session.bus.wait(for: .opened(Self.link, at: ":1.1"))
        session.bus.answer(Self.link, .success(OpenAnswer(isHandled: false, reply: [:], trace: [])))
        #expect(try await request.value.handler == Self.browser)
        // The handler has received the token.
        #expect(try session.browsersToken == "none\n")
    }

    @Test func browserOpensALinkForWhichTheHandlerVetoesItsLaunch() async throws {
        let session = try await Session(stored: [Self.proof()])
        let request = Task { try await session.router.open(Self.link, OpenOptions(), caller: ownConnection) }
        await session.bus.wait(for: .opened(Self.link, at: ":1.1"))
        session.bus.answer(Self.link, .failure(.named(OpenURLError.Code.launchVetoed.errorName, "no")))
        #expect(try await request.value.handler == Self.browser)
    }

    /// The process answers `Activate`, as some programs do that are no handlers.
    @Test func browserOpensALinkIfTheOwnerOfTheNameIsNoHandler() async throws {
        let session = try await Session(stored: [Self.proof()])
        try await session.router.activate(try BundleIdentifier(Self.app), caller: ownConnection)
        await session.bus.wait(for: .activated("com.example.app", at: ":1.1"))
        let request = Task { try await session.router.open(Self.link, Self.token, caller: ownConnection) }
        await session.bus.wait(for: .opened(Self.link, at: ":1.1"))
        session.bus.answer(Self.link, .failure(.named(.unknownMethod)))
        #expect(try await request.value.handler == Self.browser)
        // The process has received the token.
        #expect(try session.browsersToken == "none\n")
    }

    /// The answer does not say that there is a rule.
    @Test func linkThatARuleDropsCannotBeOpened() async throws {
        let session = try await Session(processes: [":1.1": 1], rules: "drop *://example.com")
        for caller: BusName in [":1.1", ownConnection] {
            #expect(try await !session.router.canOpen(Self.link, caller: caller))
        }
    }

    // MARK: Rules come first

    @Test func browserOpensALinkThatTheHandlerOfARuleDeclines() async throws {
        let session = try await Session(rules: "open *://example.com with \(Self.app)")
        let request = Task { try await session.router.open(Self.link, OpenOptions(), caller: ownConnection) }
        await session.bus.wait(for: .opened(Self.link, at: ":1.1"))
        session.bus.answer(Self.link, .success(OpenAnswer(isHandled: false, reply: [:], trace: [])))
        #expect(try await request.value.handler == Self.browser)
        #expect(session.log.lines.contains { $0.contains("the default browser opens the link instead") })
    }

    /// The process of a command that failed had the token in its environment.
    @Test(arguments: [("failing", "none"), ("missing", "token")])
    func browserGetsTheTokenIfTheProgramOfARuleWasNotStarted(_ program: String, _ token: String) async throws {
        let session = try await Session(rules: "open *://example.com with \(program).desktop")
        #expect(try await session.router.open(Self.link, Self.token, caller: ownConnection).handler == Self.browser)
        #expect(try session.browsersToken == "\(token)\n")
    }

    @Test func browserDoesNotGetTheTokenThatTheApplicationOfARuleHasReceived() async throws {
        let session = try await Session(rules: "open *://example.com with org.example.lacking.desktop")
        session.bus.setOwner(of: "org.example.lacking", to: ":1.5")
        let request = Task { try await session.router.open(Self.link, Self.token, caller: ownConnection) }
        await session.bus.wait(for: .opened(Self.link, at: ":1.5"))
        #expect(session.bus.platformData(of: Self.link)?["activation-token"] == "token")
        session.bus.answer(Self.link, .failure(.named(.unknownMethod)))
        #expect(try await request.value.handler == Self.browser)
        #expect(try session.browsersToken == "none\n")
    }

    @Test func wordsOfAHandlerDoNotPutSecretsIntoTheLog() async throws {
        let session = try await Session(rules: "open *://example.com with \(Self.app)")
        let link = "https://example.com/sign-in?code=geheim42"
        let request = Task { try await session.router.open(link, OpenOptions(), caller: ownConnection) }
        await session.bus.wait(for: .opened(link, at: ":1.1"))
        let reason = "\(link) is too old: geheim42"
        session.bus.answer(link, .failure(.named(OpenURLError.Code.declined.errorName, reason)))
        #expect(try await request.value.handler == Self.browser)
        #expect(session.log.lines.contains { $0.contains("is too old") })
        #expect(!session.log.lines.contains { $0.contains("geheim42") }, "\(session.log.lines)")
    }

    @Test(arguments: ["with browser", "with https.desktop", "with nobody"])
    func ruleThatNamesAProgramWinsOverAProof(_ clause: String) async throws {
        let session = try await Session(stored: [Self.proof()], rules: "open *://example.com \(clause)")
        #expect(try await session.open() == Self.browser)
        #expect(try await session.reasons().last?.hasSuffix("; a rule for links comes first") == true)
    }

    @Test func ruleThatDropsALinkWinsOverAProof() async throws {
        let session = try await Session(stored: [Self.proof()], rules: "drop *://example.com")
        let error = await failure { () throws(OpenURLError) in try await session.router.open(Self.link) }
        #expect(error?.code == .notAllowed)
    }

    @Test func proofIsForTheLinkThatRulesHaveChanged() async throws {
        let session = try await Session(
            stored: [Self.proof()],
            rules: "open * without utm_*\nopen http://* rewritten s,^http:,https:,\nopen *://other.example with nobody"
        )
        for url in ["http://example.com/notes/1?utm_a=b", "http://example.com/notes/1"] {
            let explained = try await session.router.explain(url, OpenOptions(), caller: ownConnection)
            #expect(explained.handler == Self.app && explained.changedURL == Self.link)
            #expect(explained.candidates.first?.id == Self.app)
            let request = Task { try await session.router.open(url, OpenOptions(), caller: ownConnection) }
            await session.bus.wait(for: .opened(Self.link, at: ":1.1"))
            session.bus.answer(Self.link)
            #expect(try await request.value.handler == Self.app)
        }
        #expect(try await session.open("https://example.com/other?utm_a=b") == Self.browser)
    }

    @Test func sandboxDoesNotLearnHowRulesChangeALink() async throws {
        let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
        defer { sandboxed.end() }
        try await sandboxed.waitUntilItRuns()
        let asking = try Self.handler { $0.queriesSchemes = [try Scheme("http")] }
        let session = try await Session(
            [asking],
            processes: [":1.1": sandboxed.pid],
            rules: "open http://* rewritten s,^http:,https:,"
        )
        _ = await session.router.status()
        #expect(await session.router.callerClass(":1.1") == .sandboxed)
        let url = "http://example.com/notes/1"
        #expect(try await session.router.explain(url, OpenOptions(), caller: ownConnection).changedURL == Self.link)
        #expect(try await session.router.explain(url, OpenOptions(), caller: ":1.1").changedURL == nil)
    }

    @Test func relayAsksWithTheRulesForItsSource() async throws {
        let session = try await Session(rules: "drop *://example.com from host:box")
        #expect(try await !session.router.canOpenRelayed("host:box", Self.link))
        #expect(try await session.router.canOpenRelayed("host:other", Self.link))
    }

    @Test func linkThatRulesHaveChangedGoesToTheBrowserFromItsHandler() async throws {
        let session = try await Session(
            stored: [Self.proof()],
            processes: [":1.1": 1],
            rules: "open http://* rewritten s,^http:,https:,"
        )
        #expect(await session.router.status().map(\.id) == [Self.app])
        let url = "http://example.com/notes/1"
        #expect(try await session.router.open(url, OpenOptions(), caller: ":1.1").handler == Self.browser)
    }

    @Test func browserIsOneStepAwayFromAHandlerThatARuleNames() async throws {
        let url = "https://other.example/"
        let session = try await Session(processes: [":1.1": 1], rules: "open \(url)* with \(Self.app)")
        #expect(try await session.open(url) == Self.app)
        var options = OpenOptions()
        options.inBrowser = true
        #expect(try await session.open(url, options) == Self.browser)
        #expect(try await session.router.open(url, OpenOptions(), caller: ":1.1").handler == Self.browser)
    }

    // MARK: Asking

    private static let answer = SiteAnswer.Outcome.file([app: SiteAnswer.App(PathRules(lines: ["+ /notes/*"])!)])

    @Test func siteIsAskedAtRegistrationAndNeverForALink() async throws {
        let session = try await Session(answer: Self.answer)
        let count = session.sites.asked.count
        #expect(count == 1)
        #expect(session.sites.asked.last?.handlers == [Self.app])
        for number in 0..<100 { #expect(try await session.open("https://example.com/notes/\(number)") == Self.app) }
        for number in 0..<100 { #expect(try await session.open("https://example.com/\(number)") == Self.browser) }
        #expect(session.sites.asked.count == count)
    }

    @Test func unreachableSiteKeepsItsProofAndOthersLoseIt() async throws {
        let stored = Self.proof { $0.asked = Self.now - 8 * Self.day }
        let session = try await Session(stored: [stored], answer: .unreachable("no network"))
        #expect(try await session.open() == Self.app)
        let proof = try #require(try await session.router.proofs().first)
        #expect(proof.failures == 1 && proof.problem == "no network" && proof.origin == .known(.site))
        session.sites.set(Self.host, nil)
        try await session.router.fetchProofs()
        #expect(try await session.open() == Self.app)
        session.sites.set(Self.host, .file([:]))
        try await session.router.fetchProofs()
        #expect(try await session.open() == Self.browser)
        session.sites.set(Self.host, Self.answer)
        try await session.router.fetchProofs()
        #expect(try await session.open() == Self.app)
        session.sites.set(Self.host, .noFile("404"))
        try await session.router.fetchProofs()
        #expect(try await session.open() == Self.browser)
    }

    @Test func onlyUndecidedClaimsOfUsersHandlersAreAskedAbout() async throws {
        let handlers = [
            try Self.handler(),
            try Self.handler("com.example.admin", claiming: ["admin.example"], byAdministrator: true),
            try Self.handler("com.example.decided", claiming: ["decided.example"]),
        ]
        var decided = LinkProof(
            handler: "com.example.decided",
            host: "decided.example",
            manifest: "/handlers/com.example.decided.plist"
        )
        decided.decision = .allow
        let session = try await Session(handlers, stored: [decided], answer: Self.answer)
        try await session.router.fetchProofs()
        #expect(Set(session.sites.asked.map(\.host)) == [Self.host])
    }

    @Test func unregisteredHandlerLosesEverything() async throws {
        let session = try await Session(stored: [Self.proof { $0.decision = .allow }])
        #expect(try await session.open() == Self.app)
        await session.router.forgetProofs(of: try BundleIdentifier(Self.app))
        #expect(try await session.open() == Self.browser)
    }

    @Test(arguments: ["localhost", "10.0.0.1", "169.254.169.254", "*.example.com", "", "example.com."])
    func decisionNeedsAHost(_ host: String) async throws {
        let session = try await Session()
        await #expect(throws: RemoteError.self) { try await session.router.decide(host, Self.app, .allow) }
    }

    @Test(arguments: [("example.org", app), (host, "com.example.other")])
    func decisionNeedsAClaim(_ host: String, _ id: String) async throws {
        let session = try await Session()
        await #expect(throws: OpenURLError.self) { try await session.router.decide(host, id, .allow) }
    }

    // MARK: The file

    @Test func damagedFileGivesNoLinkAndForgetsNoRefusal() async throws {
        let session = try await Session(
            [try Self.handler(byAdministrator: true)],
            stored: [Self.proof { $0.decision = .deny }]
        ) { try Data("damaged".utf8).write(to: URL(filePath: $0.path)) }
        #expect(try await session.open() == Self.browser)
        #expect(session.log.lines.contains { $0.contains("earlier decisions about links are lost") })
        try await session.router.decide(Self.host, Self.app, .allow)
        #expect(try await session.open() == Self.app)
    }

    @Test func nextRouterKnowsThatDecisionsAreLost() async throws {
        let handlers = [try Self.handler(byAdministrator: true)]
        let first = try await Session(handlers, stored: [Self.proof { $0.decision = .deny }]) {
            try Data("damaged".utf8).write(to: URL(filePath: $0.path))
        }
        #expect(try await first.open() == Self.browser)
        await first.router.stopDeliveries()
        let next = try await Session(handlers, in: first.directory)
        #expect(try await next.open() == Self.browser)
    }

    @Test func fileThatWasCutOffIsNotUsed() async throws {
        let session = try await Session(stored: [Self.proof()]) { file in
            let bytes = try Data(contentsOf: URL(filePath: file.path))
            try bytes.prefix(bytes.count / 2).write(to: URL(filePath: file.path))
        }
        #expect(try await session.open() == Self.browser)
    }

    @Test func fileThatOthersCanChangeIsNotUsed() async throws {
        let session = try await Session(stored: [Self.proof()]) {
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: $0.path)
        }
        #expect(try await session.open() == Self.browser)
        #expect(session.log.lines.contains { $0.contains("chmod") })
    }

    /// The user's other router, on another bus, has the file at first.
    @Test func proofsAreReadOnceTheOtherRouterHasExited() async throws {
        let first = try await Session(stored: [Self.proof()])
        let (directory, log) = (first.directory, RecordedLog())
        let store = ProofStore(path: "\(directory.path)/links", on: directory.loop, log: log.logger)
        let router = URLRouter([try Self.handler()], on: try FakeHandlers([:]), log: log.logger)
        let reading = Task { try await router.readProofs(from: store, first.sites) }
        func failures() -> Int { log.lines.count { $0.contains("no handler gets links to web pages for now") } }
        try await eventually(failures()) { $0 == 1 }
        // The log has each new reason once.
        let file = "\(directory.path)/links"
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: file)
        try await eventually(failures()) { $0 == 2 }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        await first.router.stopProofs()
        try await reading.value
    }

    @Test func linkInPlaceOfTheFileIsNotUsed() async throws {
        let session = try await Session(stored: [Self.proof()]) {
            try FileManager.default.moveItem(atPath: $0.path, toPath: "\($0.path).real")
            try FileManager.default.createSymbolicLink(atPath: $0.path, withDestinationPath: "\($0.path).real")
        }
        #expect(try await session.open() == Self.browser)
    }

    @Test func directoryInPlaceOfTheFileIsNotUsed() async throws {
        let session = try await Session {
            try FileManager.default.createDirectory(atPath: $0.path, withIntermediateDirectories: true)
        }
        #expect(try await session.open() == Self.browser)
    }

    // MARK: Times

    @Test func siteIsAskedWeeklyAndSoonerAfterAFailure() throws {
        let now = Self.now
        var proof = LinkProof(handler: Self.app, host: Self.host, manifest: "/x")
        #expect(proof.nextQuestion(at: now) == 0)
        proof.asked = now
        #expect(proof.nextQuestion(at: now) == now + 7 * Self.day)
        #expect(!proof.isDueWithOthers(at: now + 6 * Self.day))
        #expect(proof.isDueWithOthers(at: now + 6 * Self.day + Self.day / 2))
        let hour = Self.day / 24
        for (failures, wait) in [(1, hour), (2, 2 * hour), (5, 16 * hour), (6, Self.day), (900, Self.day)]
            as [(UInt32, UInt64)]
        {
            proof.failures = failures
            #expect(proof.nextQuestion(at: now) == now + wait)
        }
        // The clock was set back.
        #expect(proof.nextQuestion(at: now - 3 * Self.day) == 0)
    }
}

extension URLRouter {
    fileprivate func decide(_ host: String, _ id: String, _ decision: LinkProof.Decision?) async throws {
        try await provenLinks.decide(host, id, decision)
    }

    fileprivate func fetchProofs() async throws { try await provenLinks.fetch("") }

    fileprivate func proofs() async throws -> [LinkProof] { try await provenLinks.list() }

    fileprivate func forgetProofs(of id: BundleIdentifier) async { await provenLinks.endAll(of: id) }

    /// Starts to ask sites with the proofs from a file, and returns when the file has been read.
    fileprivate func readProofs(from store: ProofStore, _ sites: any SiteAsking) async throws {
        let links = ProvenLinks(handlers, sessions.shared, store, sites, pause: .milliseconds(10))
        links.start()
        try await eventually(links.isLoaded) { $0 }
        await links.stop()
    }

    fileprivate func readLinkRules() async { await links.readRules() }

    fileprivate func startProofs() { provenLinks.start() }

    fileprivate func stopProofs() async { await provenLinks.stop() }
}
