import OpenURLBus
import RFC1808
import Reactor
import SchemeRegistry
import Testing

@testable import DBus
@testable import URLRouter

/// The rules between the claims on callbacks.
@Suite(.timeLimit(.minutes(10))) struct CallbackClaimTests {
    private static func claim(
        _ number: Int,
        _ pattern: String,
        state: String? = nil,
        from sources: [String] = [],
        account: String = "a"
    ) throws -> CallbackClaim {
        var receiver = OpenContext.Source()
        receiver.callerClass = .known(.user)
        receiver.executable = account
        return CallbackClaim(
            path: try #require(ObjectPath("/org/openurl/Router1/request/1_7/t\(number)")),
            owner: ":1.7",
            receiver: receiver,
            pattern: try CallbackPattern(pattern),
            state: state,
            sources: sources
        )
    }

    private func claims(_ all: CallbackClaim...) -> CallbackClaims {
        var claims = CallbackClaims(RouterLimits())
        for claim in all { claims.add(claim) }
        return claims
    }

    private let source = OpenContext.Source()

    @Test func schemeOfAnswersHasOneName() {
        #expect(Scheme.reply.rawValue == XCallbackURL.replyScheme)
    }

    /// The next router has the name by then, and the entry is that router's.
    @Test func routerThatHasEndedPublishesNothing() async throws {
        let router = URLRouter([], on: try FakeHandlers([:]))
        let published = Lock<[Set<String>]>([])
        await router.publishCallbacks { schemes, _ in published.withLock { $0.append(schemes) } }
        await router.publishReplies()
        await router.stopDeliveries()
        await router.publishReplies()
        #expect(published.withLock(\.self) == [["openurl-reply"], []])
    }

    @Test func urlGoesToTheNarrowestClaim() throws {
        let (whole, host, path) = (
            try Self.claim(1, "myapp"), try Self.claim(2, "myapp://auth"), try Self.claim(3, "myapp://auth/done")
        )
        let claims = claims(whole, host, path)
        #expect(try claims.claim(for: GenericURL("myapp://auth/done/x"), from: source) == path)
        #expect(try claims.claim(for: GenericURL("myapp://auth/x"), from: source) == host)
        #expect(try claims.claim(for: GenericURL("myapp:/x"), from: source) == whole)
        #expect(try claims.claim(for: GenericURL("other:/x"), from: source) == nil)
        #expect(claims.schemes == ["myapp"])
    }

    @Test(arguments: ["", "?state=wrong", "?state=", "?state=right&state=wrong", "?State=right", "/state=right"])
    func otherStateIsRefused(_ rest: String) throws {
        let claims = claims(try Self.claim(1, "myapp://auth", state: "right"))
        let url = try GenericURL("myapp://auth\(rest)")
        let error = #expect(throws: OpenURLError.self) { try claims.claim(for: url, from: source) }
        #expect(error?.code == .notAllowed)
        #expect(!claims.isEmpty)
    }

    @Test(arguments: ["?state=r%69ght", "?code=1&state=right", "#access_token=1&state=right"])
    func stateMayBeEscapedAndInTheFragment(_ rest: String) throws {
        let claim = try Self.claim(1, "myapp://auth", state: "right")
        #expect(try claims(claim).claim(for: GenericURL("myapp://auth\(rest)"), from: source) == claim)
    }

    /// Two programs sign in at servers that use one pattern inside the other.
    @Test func stateDecidesBetweenClaims() throws {
        let (wide, narrow) = (try Self.claim(1, "myapp", state: "1"), try Self.claim(2, "myapp://auth", state: "2"))
        let claims = claims(wide, narrow)
        #expect(try claims.claim(for: GenericURL("myapp://auth?state=1"), from: source) == wide)
        #expect(try claims.claim(for: GenericURL("myapp://auth?state=2"), from: source) == narrow)
    }

    @Test func equalPatternIsClaimedOnce() throws {
        var claims = claims(try Self.claim(1, "myapp://auth"))
        let error = #expect(throws: OpenURLError.self) { try claims.check(CallbackPattern("MYAPP://auth/"), "b") }
        #expect(error?.code == .alreadyClaimed)
        try claims.check(CallbackPattern("myapp://auth/x"), "b")
        let path: ObjectPath = "/org/openurl/Router1/request/1_7/t1"
        #expect(claims.remove(path) != nil)
        #expect(claims.remove(path) == nil)
        try claims.check(CallbackPattern("myapp://auth"), "b")
        #expect(claims.isEmpty && claims.schemes.isEmpty)
    }

    @Test func applicationHasAFewClaims() throws {
        var claims = CallbackClaims(RouterLimits())
        for number in 0..<16 {
            let claim = try Self.claim(number, "myapp\(number)")
            try claims.check(claim.pattern, "a")
            claims.add(claim)
        }
        let error = #expect(throws: OpenURLError.self) { try claims.check(CallbackPattern("myapp"), "a") }
        #expect(error?.code == .limitsExceeded)
        try claims.check(CallbackPattern("myapp"), "b")
    }

    @Test func applicationGetsHalfOfWhatIsLeft() throws {
        var limits = RouterLimits()
        limits.callbacks = 3
        var claims = CallbackClaims(limits)
        claims.add(try Self.claim(1, "myapp1"))
        let error = #expect(throws: OpenURLError.self) { try claims.check(CallbackPattern("myapp2"), "a") }
        #expect(error?.code == .limitsExceeded)
        try claims.check(CallbackPattern("myapp2"), "b")
    }

    @Test func onlyNamedProgramsMayAnswer() throws {
        var browser = OpenContext.Source()
        browser.executable = "/usr/bin/browser"
        browser.callerClass = .known(.user)
        var handler = OpenContext.Source()
        handler.application = "com.example.app"
        handler.callerClass = .known(.handler)
        let url = try GenericURL("myapp:x")
        for (sources, accepts) in [
            (["/usr/bin/browser"], [true, false]), (["com.example.app"], [false, true]), (["user"], [true, false]),
            (["handler", "user"], [true, true]), (["/usr/bin"], [false, false]),
        ] {
            let claim = try Self.claim(1, "myapp", from: sources)
            #expect([browser, handler].map(claim.accepts) == accepts, "\(sources)")
        }
        let claims = claims(try Self.claim(1, "myapp", from: ["com.example.app"]))
        #expect(throws: OpenURLError.self) { try claims.claim(for: url, from: browser) }
        browser.isIntermediary = true
        #expect(try !Self.claim(1, "myapp", from: ["/usr/bin/browser"]).accepts(browser))
        var snap = OpenContext.Source()
        snap.application = "user"
        snap.callerClass = .known(.sandboxed)
        #expect(try !Self.claim(1, "myapp", from: ["user"]).accepts(snap))
    }

    /// A browser goes on after an update has replaced its file.
    @Test func programIsRecognisedAfterAnUpdate() throws {
        var browser = OpenContext.Source()
        browser.callerClass = .known(.user)
        browser.executable = "/usr/bin/browser"
        let account = browser.account
        browser.executable = "/usr/bin/browser (deleted)"
        #expect(try Self.claim(1, "myapp", from: ["/usr/bin/browser"]).accepts(browser))
        #expect(browser.account == account)
        #expect(browser.program == "/usr/bin/browser")
    }
}

extension CallbackClaims {
    /// Returns the claim that a URL belongs to if every receiver may get the URL.
    fileprivate func claim(for url: GenericURL, from source: OpenContext.Source) throws(OpenURLError) -> CallbackClaim?
    {
        try claim(for: url, from: source, among: claims(on: url))
    }
}

extension URLRouter {
    /// Makes the desktop send the answers to calls to the router.
    fileprivate func publishReplies() async { await callbacks.publishReplies() }
}
