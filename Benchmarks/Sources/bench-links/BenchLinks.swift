import Glibc
import Links
import OpenURLBus
import Policy
import RFC1808

/// Measures how long up to 10,000 rules for links take to decide about a URL. Usage: `bench-links`.
@main
struct BenchLinks {
    static func main() throws {
        print("median µs, by number of rules               10     100   1,000  10,000    99 %   worst  reading ms")
        for kind in kinds {
            var row = kind.name.padded(to: 38)
            for count in [10, 100, 1000, 10_000] {
                let lines = (0..<count).map(kind.line).joined(separator: "\n")
                let start = ContinuousClock.now
                let (all, problems) = LinkText(lines).rules(file: "links.conf", isUsers: true)
                precondition(all.count == count, "\(problems)")
                let rules = LinkRules(all)
                let reading = ContinuousClock.now - start
                let times = try measured(rules, kind.urls).sorted()
                row += number(times[times.count / 2])
                guard count == 10_000 else { continue }
                row += number(times[times.count * 99 / 100]) + number(times[times.count - 1])
                row += "    " + number(reading / .milliseconds(1))
            }
            print(row)
        }
    }

    /// A kind of rules, by number, and the links about which they decide.
    struct Kind: Sendable {
        let name: String
        let line: @Sendable (Int) -> String
        let urls: [String]

        init(_ name: String, urls: [String] = BenchLinks.urls, _ line: @escaping @Sendable (Int) -> String) {
            self.name = name
            self.line = line
            self.urls = urls
        }
    }

    static let kinds = [
        Kind("one host each") { "open https://h\($0).example/* with b" },
        Kind("a host each, made of three words", urls: sites.map { "https://www.\($0)/news/2026/a-page?from=home" }) {
            "drop *://*.\(site($0))"
        },
        Kind("the hosts below one each") { "open *://*.h\($0).example with b" },
        Kind("a part of the host each") { "open *://*h\($0).* with b" },
        Kind("a path of one host each") { "open https://h.example/p\($0)/* with b" },
        Kind("the middle of a path each") { "open https://h.example/*/p\($0)/* with b" },
        Kind("a query of one page each") { "open https://h.example/watch?v=\($0) with b" },
        Kind("a sender each") { "open * with b from app:com.example.a\($0)" },
        Kind("two senders each") { "open * with b from app:com.example.a\($0) com.b\($0).*" },
        Kind("a program each") { "open * with b from program:p\($0)" },
        Kind("one of 100 hosts and of 100 senders") {
            "open *://h\($0 / 100).example with b from app:com.example.a\($0 % 100)"
        },
        Kind("hosts, paths and senders mixed") {
            [
                "open https://h\($0).example with b", "open *://*.h\($0).example/x* with b",
                "open * with b from com.a\($0).*",
            ][$0 % 3]
        },
        Kind("every host, a path from a star") { "open *://*/*p\($0)x with b" },
        Kind("the same, links of 60,000 bytes", urls: longURLs) { "open *://*/*p\($0)x with b" },
        Kind("every host, the same path, by time") { _ in "open *://*/*a* with b between 01:00 and 02:00" },
        Kind("an expression each", urls: ["https://h9999.example/a?utm_source=x&b=c"]) {
            "open *://h\($0).example rewritten s,[?&]utm_[^&]*,, with b"
        },
        Kind("every link, a slow expression", urls: ["https://h.example/" + slowText]) { _ in
            "open * rewritten s,(a|b)*a(a|b){99}c,x,"
        },
        Kind("every link, by time") { _ in "open * with b between 01:00 and 02:00" },
    ]

    static let urls = [5, 5000, 9999, 20_000].flatMap { number in
        [
            "https://h\(number).example/a/b?c=d", "https://www.h\(number).example/x/y",
            "https://h.example/p\(number)/z",
            "https://h.example/watch?v=\(number)", "https://else.example/a/long/path/of/a/page.html?with=a&query=1",
        ]
    }

    /// Links with the numbers from 0 in their paths, and with one byte over and over.
    static let longURLs = [
        "https://h.example/" + (0..<12_000).map { "\($0)" }.joined(separator: "/").prefix(60_000),
        "https://h.example/" + String(repeating: "p", count: 60_000),
    ]

    /// Text that takes the expression above as long as any does.
    static let slowText = String((0..<2000).map { $0 * $0 % 7 % 2 == 0 ? "a" : "b" })

    static let sites = [5, 5000, 9999, 10_500].map(site)

    /// A site's name that shares most of its parts with other ones.
    static func site(_ number: Int) -> String {
        let words = [
            "shop", "news", "best", "home", "cloud", "mail", "blog", "data", "game", "travel", "music", "photo", "bank",
            "book", "food", "auto", "health", "sport", "video", "world", "web", "net",
        ]
        return words[number / 484 % 22] + words[number / 22 % 22] + words[number % 22] + ".com"
    }

    /// Times of decisions in microseconds, about links of which half match a rule.
    static func measured(_ rules: LinkRules, _ urls: [String]) throws -> [Double] {
        let callers = [
            LinkCaller(PolicyCaller(.user), program: "/usr/bin/p77"),
            LinkCaller(PolicyCaller(.sandboxed, name: "com.example.a77")),
        ]
        let urls = try urls.map { try GenericURL($0) }
        let moment = LinkMoment(day: 1, minute: 600)
        var times: [Double] = []
        for round in 0..<50 {
            for url in urls {
                for caller in callers {
                    let start = ContinuousClock.now
                    let decision = rules.decision(on: url, from: caller, at: moment)
                    let time = ContinuousClock.now - start
                    precondition(decision.problems.count <= 1)
                    // The first rounds fill the caches.
                    if round >= 5 { times.append(time / .microseconds(1)) }
                }
            }
        }
        return times
    }

    static func number(_ value: Double) -> String {
        let text = "\((value * 10).rounded() / 10)"
        return String(repeating: " ", count: max(1, 8 - text.count)) + text
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
