import OpenURLBus
import Policy
import RFC1808
import TestSupport
import Testing

@testable import Links

/// The index of the rules' patterns.
@Suite struct LinkIndexTests {
    /// The index finds the same rule as a comparison of all rules in order, for rules and links that are made of the same
    /// few parts.
    @Test(arguments: 1...10) func indexFindsTheFirstRule(_ seed: UInt64) throws {
        var random = RandomLinks(seed: seed)
        var matches = 0
        for _ in 0..<40 {
            let lines = (0..<Int.random(in: 1...40, using: &random.generator)).map { random.line($0) }
            let (all, problems) = LinkText(lines.joined(separator: "\n")).rules(file: "", isUsers: true)
            try #require(problems.isEmpty, "\(problems)")
            let rules = LinkRules(all)
            for _ in 0..<40 {
                let text = random.url()
                let link = try #require(Link(try GenericURL(text)))
                let caller = random.caller()
                let moment = LinkMoment(day: 1, minute: random.one(of: [300, 900]))
                let first = random.one(of: [0, 0, 3])
                let expected = all.indices.dropFirst(first).first { number in
                    all[number].patterns.indices.contains {
                        all[number].matches(link, pattern: $0, from: caller, at: moment)
                    }
                }
                #expect(
                    rules.firstMatch(link, caller, moment, from: first, mayChange: true) == expected,
                    "\(text) \(lines)"
                )
                matches += expected == nil ? 0 : 1
            }
        }
        // There is something to find, and not everywhere.
        #expect((300..<1500).contains(matches))
    }

    @Test func longLinkIsSearchedOnce() throws {
        let line = "open *://*/*aaaa*b with one"
        let (all, _) = LinkText(line).rules(file: "", isUsers: true)
        let link = try #require(Link(try GenericURL("https://a.example/" + String(repeating: "a", count: 20_000))))
        #expect(LinkIndex(all).entries(for: link, from: LinkCaller(PolicyCaller(.user))).count == 1)
    }

    @Test(arguments: [
        "open *://*/*invoice* with b", "open *://*/*a with b", "open *://*rare* with b", "open *://*/?rare=* with b",
        "open *://*:8099 with b", "open news: with b", "open * with b from app:rare com.rare.*",
    ]) func patternThatSpellsSomethingOutIsNotAlwaysCompared(_ line: String) throws {
        let (all, problems) = LinkText(line).rules(file: "", isUsers: true)
        try #require(problems.isEmpty, "\(problems)")
        let link = try #require(Link(try GenericURL("https://else.example/very/long/pth?with=query")))
        // The short piece of one pattern is in the link.
        let isFound = !LinkIndex(all).entries(for: link, from: LinkCaller(PolicyCaller(.user))).isEmpty
        #expect(isFound == line.contains("*a "))
    }
}

/// Makes rules and links of the same few parts.
private struct RandomLinks {
    var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &generator)]
    }

    /// Joins some of the parts.
    private mutating func text(_ parts: [String], _ count: ClosedRange<Int>) -> String {
        (0..<Int.random(in: count, using: &generator)).map { _ in one(of: parts) }.joined()
    }

    private mutating func pattern() -> String {
        let scheme = one(of: ["*", "*", "https", "http", "tel", "x"])
        if one(of: [true, false, false, false, false]) { return scheme == "*" ? "*" : "\(scheme):" }
        let host = one(of: [
            "a.example", "b.a.example", "*.example", "*.a.example", "*", "*", "c*.example", "*a*", "*b*e", "127.0.0.1",
        ])
        let port = one(of: ["", "", "", ":80", ":443", ":8080"])
        let parts = ["*", "*", "a", "b", "/", "ab/", "page", ";z"]
        let path = one(of: ["", "", "/" + text(parts, 0...5), "/" + text(parts, 0...5)])
        let query = one(of: ["", "", "?", "?" + text(["*", "*", "a", "b=", "&", "page"], 0...4)])
        return "\(scheme)://\(host)\(port)\(path)\(query)"
    }

    mutating func line(_ number: Int) -> String {
        let patterns = (0..<one(of: [1, 1, 2])).map { _ in pattern() }.joined(separator: " ")
        let sources = [
            "app:one", "host:box", "container:box", "program:mail", "program:/usr/bin/mail", "sandboxed", "user",
            "com.acme.*", "*",
        ]
        let from = one(of: ["", "", "", " from \(one(of: sources))", " from \(one(of: sources)) \(one(of: sources))"])
        return "open \(patterns) with r\(number)\(from)" + one(of: ["", "", " between 04:00 and 06:00"])
    }

    mutating func url() -> String {
        let scheme = one(of: ["https", "https", "HTTP", "http", "tel", "x"])
        if one(of: [true, false, false, false, false, false]) {
            return "\(scheme):\(text(["/", "a", "b", "1"], 1...4))"
        }
        // A browser may see another host in the last two.
        let host = one(of: [
            "a.example", "A.Example.", "b.a.example", "c1.example", "d.test", "a%2Eexample", "2130706433",
        ])
        let path = one(of: ["", "/" + text(["a", "b", "/", "ab/", "page", ";z"], 0...6)])
        let query = one(of: ["", "", "?", "?" + text(["a", "b=", "&", "page"], 1...4)])
        return "\(scheme)://\(host)\(one(of: ["", "", ":80", ":8080"]))\(path)\(query)\(one(of: ["", "#f"]))"
    }

    mutating func caller() -> LinkCaller {
        one(of: [
            LinkCaller(PolicyCaller(.user), program: "/usr/bin/mail"), LinkCaller(PolicyCaller(.user)),
            LinkCaller(PolicyCaller(.sandboxed, name: "one")), LinkCaller(PolicyCaller(.handler, name: "com.acme.app")),
            LinkCaller(PolicyCaller(.remote, name: "box")),
            LinkCaller(PolicyCaller(.remote, container: "box")),
        ])
    }
}
