import OpenURLBus
import Policy
import RFC1808
import TestSupport
import Testing
import UserFiles

@testable import Links

/// The language of the rules for links, and the rule that decides.
@Suite struct LinkRulesTests {
    private func rules(_ lines: String...) throws -> LinkRules {
        let (rules, problems) = LinkText(lines.joined(separator: "\n")).rules(file: "/links.conf", isUsers: true)
        try #require(problems.isEmpty, "\(problems)")
        return LinkRules(rules)
    }

    private func reason(_ line: String) -> String {
        do throws(LinkSyntaxError) {
            _ = try LinkRule(line, file: "", line: 1, isUsers: true)
            Issue.record("'\(line)' is a rule")
            return ""
        } catch {
            return error.description
        }
    }

    private func matches(_ pattern: String, _ url: String) throws -> Bool {
        let link = try #require(Link(try GenericURL(url)))
        return try LinkPattern(pattern).matches(link)
    }

    @Test(arguments: [
        ("*", "https://a.example/", true), ("*", "http://a.example/", true), ("*", "ftp://a.example/", false),
        ("*", "mailto:a@b.example", false), ("mailto:", "mailto:a@b.example", true), ("tel", "tel:1", true),
        ("tel:", "telnet://a", false), ("https://a.example", "https://A.example./x?y", true),
        ("https://a.example", "http://a.example/", false), ("*://a.example", "http://a.example", true),
        ("https://a.example", "https://b.a.example/", false), ("https://*.a.example", "https://b.a.example/", true),
        ("https://*.a.example", "https://a.example/", false), ("https://*.a.example", "https://evila.example/", false),
        ("https://*a*", "https://evila.example/", true), ("https://git*.example", "https://gitlab.example/", true),
        ("https://git*.example", "https://a.gitlab.example/", false),
        ("https://a.example:8080", "https://a.example:8080/", true),
        ("https://a.example:8080", "https://a.example/", false), ("https://a.example:443", "https://a.example/", true),
        ("https://a.example/", "https://a.example", true), ("https://a.example/", "https://a.example/x", false),
        ("https://a.example/x*", "https://a.example/x/y;z?q", true),
        ("https://a.example/*;z", "https://a.example/x/y;z?q", true),
        ("https://a.example/*/y", "https://a.example/x/z/y", true),
        ("https://a.example/X", "https://a.example/x", false),
        ("https://a.example/?", "https://a.example/", true), ("https://a.example/?", "https://a.example/?", true),
        ("https://a.example/?", "https://a.example/?x", false),
        ("https://a.example?*v=1*", "https://a.example/watch?t=2&v=12", true),
        ("https://a.example/w?v=1", "https://a.example/w", false), ("*://*/*x*", "https://a.example/axb", true),
        // A browser may see another host here.
        ("https://127.0.0.1", "https://2130706433/", false), ("https://a.example", "https:/a.example/", false),
        ("https://a.example", "https://ev%00a.example/", false), ("https://a.example", "https://a%2Eexample/", true),
        ("*", "https:/a.example/", true),
    ]) func patternsMatch(_ pattern: String, _ url: String, _ expected: Bool) throws {
        #expect(try matches(pattern, url) == expected)
    }

    @Test func firstRuleThatMatchesDecides() throws {
        let rules = try rules(
            "# a comment",
            "open https://a.example/x* with one",
            "OPEN https://*.example/* with two  # another",
            "open https://a.example/* with three",
            "drop *://ads.example"
        )
        #expect(try decision(rules, "https://a.example/x1") == "one")
        #expect(try decision(rules, "https://a.example/y") == "two")
        #expect(try decision(rules, "http://ads.example/") == "drop")
        #expect(try decision(rules, "http://a.example/") == "usual")
        let rule = rules.decision(
            on: try GenericURL("https://a.example/y"),
            from: LinkCaller(PolicyCaller(.user)),
            at: LinkMoment(day: 1, minute: 0)
        ).rule
        #expect(rule?.place == "/links.conf:3")
        #expect(rule?.text == "OPEN https://*.example/* with two")
    }

    @Test func schemeAloneIsNoLink() throws {
        let rules = try rules("open * mailto: with one")
        for url in ["https:", "mailto:"] { #expect(try decision(rules, url) == "usual") }
        for url in ["https:/a", "https:a", "mailto:a"] { #expect(try decision(rules, url) == "one", "\(url)") }
    }

    @Test func sourcesMatch() throws {
        let rules = try rules(
            "open * with one from com.acme.* app:firefox",
            "open * with two from sandboxed",
            "open * with three from program:mail",
            "open * with four from program:/opt/x/chat",
            "open * with five from container:box",
            "open * with six from host:box"
        )
        let url = "https://a.example/"
        #expect(try decision(rules, url, from: PolicyCaller(.handler, name: "com.acme.app")) == "one")
        #expect(try decision(rules, url, from: PolicyCaller(.sandboxed, name: "firefox")) == "one")
        #expect(try decision(rules, url, from: PolicyCaller(.sandboxed, name: "org.b")) == "two")
        #expect(try decision(rules, url, from: PolicyCaller(.user), program: "/usr/bin/mail") == "three")
        #expect(try decision(rules, url, from: PolicyCaller(.user), program: "/opt/x/chat") == "four")
        #expect(try decision(rules, url, from: PolicyCaller(.user), program: "/opt/y/chat") == "usual")
        #expect(try decision(rules, url, from: PolicyCaller(.remote, container: "box")) == "five")
        #expect(try decision(rules, url, from: PolicyCaller(.remote, name: "box")) == "six")
        #expect(try decision(rules, url, from: PolicyCaller(.unknown)) == "usual")
    }

    @Test func timesMatch() throws {
        let rules = try rules(
            "open * with work between 09:00 and 17:00 on mon-fri",
            "open * with night between 22:00 and 06:00 on fri",
            "open * with weekend on sat,sun",
            "open * with late between 20:00 and 24:00"
        )
        func at(_ day: Int, _ hour: Int, _ minute: Int = 0) throws -> String {
            try decision(rules, "https://a.example/", at: LinkMoment(day: day, minute: hour * 60 + minute))
        }
        #expect(try at(1, 9) == "work")
        #expect(try at(5, 16, 59) == "work")
        #expect(try at(5, 17) == "usual")
        #expect(try at(5, 22) == "night")
        #expect(try at(6, 5, 59) == "night")
        #expect(try at(6, 6) == "weekend")
        #expect(try at(0, 5) == "weekend")
        #expect(try at(1, 8, 59) == "usual")
        #expect(try at(1, 23, 59) == "late")
    }

    @Test func targetsAreReadAsTheyArePrinted() throws {
        for target in [
            "firefox", "org.mozilla.firefox.desktop --profile work", "firefox --profile \"a b\" --private",
            "firefox --container Banking", "browser", "browser --private", "chooser",
        ] {
            let rules = try rules("open * with \(target)")
            guard case .open(let read) = rules.rules[0].action else {
                Issue.record("\(target)")
                continue
            }
            #expect(read.description == target)
        }
    }

    @Test(arguments: [
        ("allow * from *", "begins with 'allow'"), ("open", "has no URLs"), ("open with firefox", "has no URLs"),
        ("open *", "has no program"), ("open github.com with a", "*://HOST/PATH"), ("open https:// with a", "no host"),
        ("open https://a:x with a", "no port"), ("open https://a..b with a", "empty label"),
        ("open * with /bin/sh", "not a program"), ("open * with -x", "not a program"),
        ("open * with a --args x", "has '--args'"), ("open * with a --profile", "ends after"),
        ("open * with chooser --private", "option for the chooser"), ("open * with a with b", "has 'with' twice"),
        ("drop * with a", "drops the link"), ("open * rewritten s,a,b", "three times"),
        ("open * rewritten s,(,b,", "regular expression"), ("open * rewritten s,a,b,x", "other than g and i"),
        (#"open * rewritten s,(a)\1,b,"#, "refers back"), ("open * rewritten s,a{1000},b,", "more than 100 times"),
        ("open * rewritten s,(a{50}){50},b,", "is too large"), (#"open * rewritten s,a,\1,"#, "has 0 groups"),
        ("open * with a between 9 and 17:00", "two times"), ("open * with a between 09:00 to 17:00", "two times"),
        ("open * with a between 09:00 and 25:00", "two times"), ("open * with a on monday", "days"),
        ("open * with a from /usr/bin/x", "program:NAME"), ("open * with \"a", "second quotation mark"),
        ("open * with a nowhere", "has 'nowhere'"), ("open file: with a", "by their type"),
    ]) func brokenLinesGiveTheReason(_ line: String, _ part: String) {
        let reason = reason(line)
        #expect(reason.contains(part), "\(reason)")
    }

    @Test func brokenLineDoesNotStopTheOthers() {
        let text = LinkText("open * with\nopen *://a.example with one\nrubbish\n")
        let (rules, problems) = text.rules(file: "/l", isUsers: true)
        #expect(rules.map(\.line) == [2])
        #expect(problems.map(\.key) == ["line 1", "line 3"])
    }

    @Test func changesGoOnWithTheNextLine() throws {
        let rules = try rules(
            "open * without utm_* fbclid",
            #"open http://*/* rewritten s,^http:,https:,"#,
            #"open https://google.example/url?* rewritten s,^.*[?&]q=([^&]*).*$,\%1,"#,
            "open https://b.example with one",
            "open https://c.example rewritten s/c/d/ with two"
        )
        #expect(
            try changed(rules, "http://a.example/x?utm_source=1&b=2&fbclid=3#f") == "usual https://a.example/x?b=2#f"
        )
        #expect(try changed(rules, "https://a.example/?utm_x#f") == "usual https://a.example/#f")
        #expect(
            try changed(rules, "https://google.example/url?sa=t&q=https%3A%2F%2Fb.example%2Fp%3Fx%3D1&z")
                == "one https://b.example/p?x=1"
        )
        #expect(try changed(rules, "https://c.example/") == "two https://d.example/")
    }

    /// A rule is used once, so that two rules that undo each other end.
    @Test func changesDoNotLoop() throws {
        let rules = try rules(
            "open * rewritten s,/a,/b,",
            "open * rewritten s,/b,/a,",
            "open * rewritten s,x,xx,g with one"
        )
        #expect(try changed(rules, "https://x.test/a") == "one https://xx.test/a")
        let many = LinkRules(
            LinkText(String(repeating: "open * rewritten s,$,x,\n", count: 20)).rules(file: "", isUsers: true).rules
        )
        let decision = many.decision(
            on: try GenericURL("https://a.example/"),
            from: LinkCaller(PolicyCaller(.user)),
            at: LinkMoment(day: 0, minute: 0)
        )
        #expect(decision.url.description == "https://a.example/xxxxxxxx")
        #expect(decision.problems.count == 1)
    }

    @Test(arguments: [
        "open * rewritten s,https://a,file://a,", "open * rewritten s,^.*$,javascript:1,",
        "open * rewritten s,//a.example,/a,", "open * rewritten s,a.example,2130706433,",
        "open * rewritten s,a,%zz,", "open * rewritten s,^.*$,,", #"open * rewritten s,/$,/\ ,"#,
    ]) func changeThatIsNoLinkIsLeftOut(_ line: String) throws {
        let (found, _) = LinkText("\(line)\nopen * with one\n").rules(file: "/l", isUsers: true)
        let decision = LinkRules(found).decision(
            on: try GenericURL("https://a.example/"),
            from: LinkCaller(PolicyCaller(.user)),
            at: LinkMoment(day: 0, minute: 0)
        )
        #expect(decision.url.description == "https://a.example/")
        #expect(decision.action == .open(LinkTarget(.named("one"))))
        if found.count == 2 { #expect(decision.problems.count == 1) }
    }

    @Test func longLinkIsNotChanged() throws {
        let rules = try rules("open * without x with one")
        let url = "https://a.example/?x&" + String(repeating: "y", count: LinkChange.maximumLength)
        #expect(try changed(rules, url) == "usual \(url)")
    }

    @Test func newRuleComesBeforeTheOneThatAsked() throws {
        var text = LinkText("# mine\nopen *://a with one\nopen  * with chooser # ask\n")
        let rules = text.rules(file: "", isUsers: true).rules
        text.insert("open *://b with two", above: rules[1])
        #expect(text.text == "# mine\nopen *://a with one\nopen *://b with two\nopen  * with chooser # ask\n")
        text.insert("open *://c with two", above: nil)
        #expect(text.text.hasSuffix("# ask\nopen *://c with two\n"))
    }

    @Test func globsTakeNoLongWithManyStars() {
        let glob = LinkGlob(Array(String(repeating: "*a", count: 200).utf8) + [UInt8(ascii: "b")])
        #expect(!glob.matches(Array(repeating: UInt8(ascii: "a"), count: 20_000)[...]))
    }

    private func decision(
        _ rules: LinkRules,
        _ url: String,
        from caller: PolicyCaller = PolicyCaller(.user),
        program: String? = nil,
        at moment: LinkMoment = LinkMoment(day: 1, minute: 0)
    ) throws -> String {
        rules.decision(on: try GenericURL(url), from: LinkCaller(caller, program: program), at: moment).words
    }

    private func changed(_ rules: LinkRules, _ url: String) throws -> String {
        let decision = rules.decision(
            on: try GenericURL(url),
            from: LinkCaller(PolicyCaller(.user)),
            at: LinkMoment(day: 1, minute: 0)
        )
        return "\(decision.words) \(decision.url)"
    }
}

extension LinkDecision {
    /// The decision in a few words.
    var words: String {
        switch action {
        case .usual: "usual"
        case .drop: "drop"
        case .open(let target): target.description
        }
    }
}
