import OpenURLBus
import Policy
import SchemeRegistry
import Testing
import UserFiles

/// The reading and changing of the text of a policy file.
@Suite struct PolicyTextTests {
    private static let file = "/home/me/policy.conf"

    private func read(_ text: String) -> (rules: [String], problems: [String]) {
        let (rules, diagnostics) = PolicyText(text).rules(file: Self.file, isUsers: true)
        return (rules.map { "\($0.line): \($0.text)" }, diagnostics.map(\.description))
    }

    @Test func linesAndCommentsAreRead() {
        let text = """
            # My rules

            deny tel from sandboxed   # no calls
            \tallow\tTODOLIST://Work from org.example.App
            ask * from remote
            allow mailto: from app:firefox
            """
        let (rules, problems) = read(text)
        #expect(
            rules == [
                "3: deny tel from sandboxed", "4: allow todolist://work from org.example.App", "5: ask * from remote",
                "6: allow mailto from app:firefox",
            ]
        )
        #expect(problems == [])
    }

    @Test(arguments: [
        (
            "permit tel from user",
            "begins with 'permit': write allow, ask or deny first, as in 'deny tel from sandboxed'"
        ),
        ("deny tel", "is not a rule: write 'deny SCHEME from SOURCE', as in 'deny tel from sandboxed'"),
        ("deny tel of user", "is not a rule: write 'deny SCHEME from SOURCE', as in 'deny tel from sandboxed'"),
        ("deny tel from a b", "is not a rule: write 'deny SCHEME from SOURCE', as in 'deny tel from sandboxed'"),
        ("deny 1 from user", "the scheme '1' starts with '1'; a scheme starts with a letter"),
        ("deny tel:// from user", "'tel://' has no host: write SCHEME, or SCHEME://HOST"),
        ("deny tel://a..b from user", "the host 'a..b' has an empty label"),
        (
            "deny tel from users",
            "'users' is not a source: write an identifier such as com.acme.app or com.acme.*, one of handler, user, sandboxed, "
                + "remote, unknown, host:NAME, container:NAME, app:NAME, or *"
        ),
        (
            "deny tel from host:",
            "'' is not the name of a host: write letters, digits, '-', '_', '+', '.' and ':', at most 255 bytes"
        ),
    ])
    func brokenLineRefusesConfinedPrograms(_ line: String, _ reason: String) {
        let (rules, problems) = read("allow tel from user\n\(line)\nask sms from user\ndeny x\n")
        let refusals = ["sandboxed", "remote", "unknown"].map { "2: deny * from \($0)" }
        #expect(rules == ["1: allow tel from user"] + refusals + ["3: ask sms from user"])
        #expect(problems.count == 2)
        #expect(problems.first == "\(Self.file): line 2: \(reason)\(Self.consequence)")
    }

    private static let consequence =
        "; until the line is corrected, no rule allows anything to sandboxes, other hosts and unknown programs"

    @Test(arguments: [
        "allow tel", "Allow 1 from user", "allow tel from users", "allow\ttel://a..b from com.acme.app",
    ])
    func brokenLineThatAllowsAllowsNothing(_ line: String) {
        let (rules, problems) = read("\(line)\nask sms from user\n")
        #expect(rules == ["2: ask sms from user"])
        #expect(problems.count == 1)
        #expect(problems.first?.hasSuffix(Self.consequence) == false)
    }

    /// The invisible characters that editors leave in a file.
    @Test(arguments: [
        "\u{FEFF}deny tel from com.acme.app", "Deny tel FROM com.acme.app\r", "DENY\tTEL:  from  com.acme.app",
        "# x\rdeny tel from com.acme.app",
    ])
    func lineInAnotherSpellingCounts(_ text: String) throws {
        let (rules, diagnostics) = PolicyText(text).rules(file: Self.file, isUsers: true)
        #expect(rules.map(\.text) == ["deny tel from com.acme.app"])
        #expect(diagnostics.isEmpty)
    }

    @Test func classesAndMarksMayBeInAnyCase() throws {
        #expect(
            read("deny tel from Sandboxed\nask x from HOST:Laptop\nallow x from App:Firefox").rules == [
                "1: deny tel from sandboxed", "2: ask x from host:laptop", "3: allow x from app:Firefox",
            ]
        )
    }

    /// The line may have refused the application that a rule allows, so no rule allows it before the line is corrected.
    @Test(arguments: [
        "deny\u{A0}tel from com.acme.app", "deny tel\u{A0}from com.acme.app", "deny tel from com.acme.app\0",
        "de\0ny tel from com.acme.app", "\u{200B}deny tel from com.acme.app", "dney tel from com.acme.app",
        "deny tel from com.acme.app and others", "ask \u{301}tel from com.acme.app", "d\u{FFFD}",
    ])
    func unreadableLineDecidesBeforeRulesThatAllow(_ line: String) throws {
        let text = PolicyText("allow * from com.acme.app\nallow tel from *\n\(line)\n")
        let rules = PolicyRules(text.rules(file: Self.file, isUsers: true).rules)
        let url = PolicyURL(scheme: try Scheme("tel"), host: nil)
        for caller in [PolicyCaller(.sandboxed, name: "com.acme.app"), PolicyCaller(.unknown), PolicyCaller(.remote)] {
            let rule = try #require(rules.rule(for: url, from: caller))
            #expect(rule.decision == .deny)
            #expect(rule.place == "because line 3 of \(Self.file) cannot be read")
        }
        #expect(rules.rule(for: url, from: PolicyCaller(.user))?.decision == .allow)
        #expect(rules.ruleForUnknownCaller(of: url)?.decision == .deny)
    }

    @Test func rulesAndProblemsAreBounded() {
        let rules = read((0..<2000).map { "deny x\($0) from user\n" }.joined())
        // The file allows nothing to sandboxes, other hosts and unknown programs.
        #expect(rules.rules.count == PolicyText.maximumRules + 3)
        #expect(rules.problems == ["\(Self.file): line 1001: is not used: a file may have at most 1000 rules"])
        #expect(read(String(repeating: "x\n", count: 500)).problems.count == 21)
        #expect(read(String(repeating: "x\n", count: 500)).rules.count == 3)
    }

    @Test func controlCharactersAreEscaped() {
        let problem = read("\u{1B}[31m x").problems.first ?? ""
        #expect(!problem.unicodeScalars.contains("\u{1B}"))
    }

    @Test func changesKeepCommentsAndOrder() throws {
        var text = PolicyText("# Top\n  deny tel from sandboxed  # no calls\n\nbroken line\nallow sms from user")
        let tel = try PolicyPattern(urls: "tel", source: "sandboxed")
        text.set(tel, .ask)
        #expect(text.text == "# Top\n  ask tel from sandboxed  # no calls\n\nbroken line\nallow sms from user\n")
        text.set(try PolicyPattern(urls: "x://*.B", source: "*"), .deny)
        #expect(text.text.hasSuffix("allow sms from user\ndeny x://*.b from *\n"))
        let isRemoved = text.remove(tel)
        let isRemovedAgain = text.remove(tel)
        #expect(isRemoved && !isRemovedAgain)
        #expect(text.text == "# Top\n\nbroken line\nallow sms from user\ndeny x://*.b from *\n")
        text.removeAll()
        #expect(text.text == "# Top\n\nbroken line\n")
    }

    @Test func changeLeavesOneRuleForAPattern() throws {
        var text = PolicyText("allow tel from user\n# between\ndeny TEL: from user\n")
        text.set(try PolicyPattern(urls: "tel", source: "user"), .ask)
        #expect(text.text == "ask tel from user\n# between\n")
    }

    @Test func writtenRuleIsReadAgain() throws {
        for source in ["*", "user", "unknown", "host:a.b", "com.*", "com.acme.app", "app:firefox", "app:user"] {
            for urls in ["*", "tel", "tel://a.b", "*://*.b"] {
                let pattern = try PolicyPattern(urls: urls, source: source)
                #expect(try PolicyPattern(urls: pattern.urls, source: pattern.source.description) == pattern)
                #expect(pattern.description == "\(urls) from \(source)")
            }
        }
    }
}
