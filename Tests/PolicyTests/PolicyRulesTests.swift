import OpenURLBus
import Policy
import SchemeRegistry
import TestSupport
import Testing

/// The rule that decides about a URL from a caller.
@Suite struct PolicyRulesTests {
    private static func rules(_ text: String, administrators: String = "") -> PolicyRules {
        PolicyRules(
            PolicyText(administrators).rules(file: "/etc/a.conf", isUsers: false).rules
                + PolicyText(text).rules(file: "/home/policy.conf", isUsers: true).rules
        )
    }

    private static func url(_ text: String) throws -> PolicyURL {
        let parts = text.split(separator: "://", maxSplits: 1).map(String.init)
        return PolicyURL(scheme: try Scheme(parts[0]), host: parts.count > 1 ? parts[1] : nil)
    }

    struct Case {
        let rules: String
        let url: String
        let caller: PolicyCaller
        let expected: String?
    }

    private static let app = PolicyCaller(.sandboxed, name: "org.example.App")
    private static let nameless = PolicyCaller(.sandboxed)
    private static let user = PolicyCaller(.user)
    private static let remote = PolicyCaller(.remote, name: "Laptop.local")

    @Test(arguments: [
        Case(rules: "", url: "tel", caller: user, expected: nil),
        Case(rules: "deny tel from sandboxed", url: "tel", caller: app, expected: "deny tel from sandboxed"),
        Case(rules: "deny tel from sandboxed", url: "tel", caller: user, expected: nil),
        Case(rules: "deny tel from sandboxed", url: "sms", caller: app, expected: nil),
        Case(rules: "deny * from *", url: "tel://a", caller: remote, expected: "deny * from *"),
        // The source decides first.
        Case(
            rules: "deny tel://a.b from sandboxed\nallow * from org.example.App",
            url: "tel://a.b",
            caller: app,
            expected: "allow * from org.example.App"
        ),
        Case(
            rules: "deny tel from *\nask * from sandboxed",
            url: "tel",
            caller: nameless,
            expected: "ask * from sandboxed"
        ),
        Case(
            rules: "allow * from org.*\ndeny * from org.example.*\nask * from sandboxed",
            url: "tel",
            caller: app,
            expected: "deny * from org.example.*"
        ),
        Case(
            rules: "allow * from org.example.*\ndeny * from org.example.App",
            url: "tel",
            caller: app,
            expected: "deny * from org.example.App"
        ),
        Case(
            rules: "ask * from remote\nallow * from host:laptop.LOCAL\ndeny * from host:other",
            url: "tel",
            caller: remote,
            expected: "allow * from host:laptop.local"
        ),
        // Then the scheme.
        Case(
            rules: "deny *://a.b from user\nallow tel from user",
            url: "tel://a.b",
            caller: user,
            expected: "allow tel from user"
        ),
        // Then the host.
        Case(
            rules: "deny tel from user\nallow tel://*.b.c from user\nask tel://*.c from user",
            url: "tel://a.b.c",
            caller: user,
            expected: "allow tel://*.b.c from user"
        ),
        Case(
            rules: "deny tel://*.b.c from user\nallow tel://A.b.c from user",
            url: "tel://a.B.c.",
            caller: user,
            expected: "allow tel://a.b.c from user"
        ),
        Case(rules: "deny tel://a from user", url: "tel", caller: user, expected: nil),
        // A tie.
        Case(
            rules: "allow tel from user\ndeny tel from user",
            url: "tel",
            caller: user,
            expected: "deny tel from user"
        ),
        Case(
            rules: "deny tel from user\nallow tel from user",
            url: "tel",
            caller: user,
            expected: "deny tel from user"
        ),
        Case(rules: "allow tel from user\nask tel from user", url: "tel", caller: user, expected: "ask tel from user"),
        Case(
            rules: "deny * from remote\nallow tel from container:Dev",
            url: "tel",
            caller: PolicyCaller(.remote, container: "Dev"),
            expected: "allow tel from container:Dev"
        ),
        // A container is not a host, and its name has a case.
        Case(
            rules: "allow * from host:dev",
            url: "tel",
            caller: PolicyCaller(.remote, container: "dev"),
            expected: nil
        ),
        Case(rules: "allow * from container:laptop.local", url: "tel", caller: remote, expected: nil),
        Case(
            rules: "allow * from container:dev",
            url: "tel",
            caller: PolicyCaller(.remote, container: "Dev"),
            expected: nil
        ),
        // The name of a program is not the name of its host, and the other way round.
        Case(rules: "allow * from app:laptop.local", url: "tel", caller: remote, expected: nil),
        Case(
            rules: "allow * from app:firefox",
            url: "tel",
            caller: PolicyCaller(.sandboxed, name: "firefox"),
            expected: "allow * from app:firefox"
        ),
        Case(rules: "allow * from user", url: "tel", caller: PolicyCaller(.sandboxed, name: "user"), expected: nil),
    ])
    func mostSpecificRuleDecides(_ example: Case) throws {
        let rule = Self.rules(example.rules).rule(for: try Self.url(example.url), from: example.caller)
        #expect(rule?.text == example.expected)
    }

    @Test func administratorsRulesComeFirst() throws {
        let rules = Self.rules("allow tel://a from user", administrators: "deny * from *")
        let rule = try #require(rules.rule(for: Self.url("tel://a"), from: Self.user))
        #expect(rule.text == "deny * from *")
        #expect(rule.file == "/etc/a.conf")
        let pattern = try PolicyPattern(urls: "tel://a", source: "user")
        #expect(rules.administratorsRule(covering: pattern)?.text == "deny * from *")
        let narrow = Self.rules("", administrators: "deny tel from org.example.*")
        #expect(narrow.administratorsRule(covering: pattern) == nil)
        let application = try PolicyPattern(urls: "tel://a", source: "org.example.App")
        #expect(narrow.administratorsRule(covering: application)?.text == "deny tel from org.example.*")
    }

    /// A caller that exits at once is unknown, which must not be a way around the administrator.
    @Test(arguments: [
        ("deny tel from *", "allow * from unknown", "deny tel from *"),
        ("deny tel from org.example.*", "allow tel from unknown", "deny tel from org.example.*"),
        ("ask * from unknown", "deny tel from unknown", "ask * from unknown"),
        ("ask tel from org.example.*", "deny tel from unknown", "deny tel from unknown"),
        ("ask tel from org.example.*", "deny tel from *", "deny tel from *"),
        ("ask tel from org.example.*", "allow tel from unknown", "ask tel from org.example.*"),
        ("allow tel from user", "deny tel from unknown", "deny tel from unknown"),
        ("allow tel from user", "deny tel from *", "deny tel from *"),
        ("deny sms from *", "allow tel from unknown", "allow tel from unknown"),
    ])
    func administratorsRulesComeFirstForUnknownCallers(
        _ administrators: String,
        _ own: String,
        _ expected: String
    ) throws {
        let rules = Self.rules(own, administrators: administrators)
        #expect(rules.ruleForUnknownCaller(of: try Self.url("tel"))?.text == expected)
    }

    @Test func escapedHostIsTheHost() throws {
        let rules = Self.rules("deny x://evil.com from *")
        for text in ["x://evil.com/", "x://EVIL.com:80", "x://ev%69l.com", "x://a:b@evil.com.", "x://evil.com.:1/"] {
            let url = try #require(try GenericURLs.policyURL(text))
            #expect(rules.rule(for: url, from: Self.user) != nil, "\(text)")
        }
        let other = try #require(try GenericURLs.policyURL("x://evil.com@good.com"))
        #expect(rules.rule(for: other, from: Self.user) == nil)
    }

    // MARK: Properties

    private static let sources = [
        "*", "user", "sandboxed", "remote", "host:laptop", "container:dev", "org.*", "org.example.*", "org.example.App",
        "app:firefox",
    ]
    private static let patterns = ["*", "tel", "sms", "*://a.b", "tel://a.b", "tel://*.b", "*://*.b", "sms://*.a.b"]
    private static let callers = [
        user, nameless, app, PolicyCaller(.remote, name: "laptop"), PolicyCaller(.sandboxed, name: "firefox"),
        PolicyCaller(.remote, container: "dev"),
        PolicyCaller(.handler, name: "org.example.Other"),
    ]

    private func randomLine(_ generator: inout some RandomNumberGenerator) -> String {
        let decision = PolicyDecision.allCases.randomElement(using: &generator)?.rawValue ?? ""
        let source = Self.sources.randomElement(using: &generator) ?? ""
        return "\(decision) \(Self.patterns.randomElement(using: &generator) ?? "") from \(source)"
    }

    @Test func lessSpecificRuleNeverChangesADecision() throws {
        var generator = SeededGenerator(seed: 16)
        for _ in 0..<2000 {
            var lines = (0..<Int.random(in: 1...6, using: &generator)).map { _ in randomLine(&generator) }
            let caller = Self.callers.randomElement(using: &generator) ?? Self.user
            let url = try Self.url(
                ["tel", "sms", "tel://a.b", "tel://x.b", "sms://x.a.b"].randomElement(using: &generator) ?? ""
            )
            let rules = Self.rules(lines.joined(separator: "\n"))
            let before = rules.rule(for: url, from: caller)
            let added = randomLine(&generator)
            lines.insert(added, at: Int.random(in: 0...lines.count, using: &generator))
            let after = Self.rules(lines.joined(separator: "\n")).rule(for: url, from: caller)
            // A rule that changes the decision also wins against the old rule alone.
            if let before, after?.text != before.text {
                let pair = Self.rules("\(before.text)\n\(added)").rule(for: url, from: caller)
                #expect(after?.text == added && pair?.text == added, "\(lines)")
            }
            // The order of the lines does not matter.
            let shuffled = Self.rules(lines.shuffled(using: &generator).joined(separator: "\n"))
            #expect(shuffled.rule(for: url, from: caller)?.text == after?.text, "\(lines)")
        }
    }

    /// Spellings in which a browser, or a handler that decodes the host, finds another host than the router.
    @Test(arguments: [
        "http:///evil.com/", "http:/evil.com/", "http:evil.com/", "http:////evil.com", "http://evil%E3%80%82com/",
        "http://%EF%BD%85vil.com/", "http://evil.com../", "http://evil.com%00/", "http://evil.com%2F.good.com/",
        "http://evil.com%40.good.com/", "http://*.good.com/", "http://%2A.good.com/",
        // Addresses of IPv4 for a browser.
        "http://2130706433/", "http://0x7f000001/", "http://0X7F.1/", "http://0177.0.0.1/", "http://127.1/",
        "http://127.0.0.1.5/",
        "http://a.256/", "http://127.0.0.01/", "http://[::ffff:127.0.0.1]/", "http://[0:0:0:0:0:FFFF:7f00:1]/",
        "http://[::127.0.0.1]/", "http://2130706433./",
    ])
    func hostInDoubtMeetsEveryRuleThatDoesNotAllow(text: String) throws {
        let url = try #require(try GenericURLs.policyURL(text))
        #expect(url.isHostInDoubt)
        let rules = Self.rules("deny http://evil.com from *\nallow http://*.good.com from *\nallow http from *")
        #expect(rules.rule(for: url, from: Self.app)?.text == "deny http://evil.com from *")
        #expect(Self.rules("allow http://*.good.com from *").rule(for: url, from: Self.app) == nil)
        let asking = Self.rules("ask http://other.com from *")
        #expect(asking.ruleForUnknownCaller(of: url)?.text == "ask http://other.com from *")
        // An answer about it could be used for a page of another host, and a rule for one host does not allow it.
        #expect(!url.hasExactPattern)
        #expect(url.patternToAllow(from: .callers(.user)).description == "http from user")
    }

    @Test(arguments: [
        "http://evil.com/", "HTTP://EVIL.com./", "http://[::1]/", "http://[::]/", "http://[2001:db8::ffff:1]/",
        "http://127.0.0.1/",
        "http://1.example.com/", "http://0x7f.com/", "target://2130706433/", "mailto:a@b.c", "file:///etc/passwd",
        "tel:1",
    ])
    func hostThatEveryProgramReadsAlikeIsNotInDoubt(text: String) throws {
        let url = try #require(try GenericURLs.policyURL(text))
        #expect(!url.isHostInDoubt)
        #expect(url.hasExactPattern == !text.contains("["))
    }

    /// Decoded marks would make each comparison with a pattern take long.
    @Test func hostWithTooManyMarksIsNotDecoded() throws {
        let marks = String(repeating: "%CC%81%CC%96", count: 200)
        #expect(try GenericURLs.policyURL("x://a\(marks).")?.host?.hasPrefix("a%CC%81") == true)
        #expect(try GenericURLs.policyURL("x://a%CC%81.b.")?.host == "a\u{301}.b")
    }
}
